/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/json.h"
#include "answer/why.h"
#include "base/units.h"
#include "cli/answer_text.h"
#include "cli/command.h"
#include "cli/critical_text.h"
#include "cli/json_file.h"
#include "cli/progress.h"
#include "cli/reading_help.h"
#include "cli/recording_operands.h"
#include "cli/up_dir.h"
#include "recorder/default_dir.h"
#include "up/ask.h"

#define CHAINS_SHOWN 12
#define PID_MOST 4194304 /* of Linux */
#define UP_CHUNKS "/chunks"
/* So much of a 'fathom up' is looked at: all that it keeps takes too long. */
#define LIVE_PROCESS_NS UINT64_C(60000000000)
#define LIVE_REQUEST_NS UINT64_C(600000000000)

struct why_options {
	const char *id; /* set by the check: a trace id or span id; NULL: a process */
	uint32_t pid;	/* likewise */
	struct time_point at;
	int boot;
	uint64_t threads;
	bool json;
	const char **dirs; /* owned array */
	size_t dirs_count;
	bool unnamed; /* set by the check: no recording was named, and none lies here */
};

#define AT(field) offsetof(struct why_options, field)
static const struct option why_option_table[] = {
	{"at", 0, "T", "look at a process then, and not at the end: a point in time as for --from",
	 NULL, AT(at), option_time},
	{"boot", 0, "N", BOOT_HELP, NULL, AT(boot), option_boot},
	{"threads", 0, "N", THREADS_HELP, NULL, AT(threads), option_count},
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{0},
};
#undef AT

/* ---- operands ---- */

/* Takes the last operand as what is asked for. False: it is neither an id nor a process. */
static bool asked_take(struct why_options *o, const char *text)
{
	size_t digits = strspn(text, "0123456789"), hex = strspn(text, "0123456789abcdefABCDEF");

	if (!text[digits] && digits && digits <= 7) {
		o->pid = (uint32_t)strtoul(text, NULL, 10);
		return o->pid && o->pid <= PID_MOST;
	}
	if (text[hex] || (hex != 16 && hex != 32))
		return false;
	o->id = text;
	return true;
}

static int why_check(void *options, const struct operands *operands, struct error *e)
{
	struct why_options *o = options;
	struct operands dirs = *operands;
	const char *none = NULL;
	int err;

	if (!operands->count || !asked_take(o, operands->items[operands->count - 1]))
		return error_say(
			e, EINVAL,
			"say for what, behind the recording: a process by its pid, a trace "
			"id of 32 hex digits, or a span id of 16");
	dirs.count--;
	err = recording_operands_read(&dirs, &o->dirs, &o->dirs_count, &none, e);
	if (err)
		return err;
	if (none)
		return error_say(e, EINVAL, "only one id is allowed");
	o->unnamed = !dirs.count && access(DEFAULT_DIR, F_OK) != 0;
	return recording_range_check(&o->at, &(struct time_point){0}, (const char *const *)o->dirs,
				     o->dirs_count, e);
}

static void why_release(void *options)
{
	free(((struct why_options *)options)->dirs);
}

/* ---- text ---- */

static void line_write(const struct terminal *t, const struct why_line *line)
{
	char text[2048], length[UNITS_TEXT_BYTES];
	int column = 2 + 3 * (int)line->depth;

	snprintf(text, sizeof(text), "%s %s%s%s%s%s", line->subject, line->verb,
		 line->ns ? " " : "", line->ns ? units_format_ns((int64_t)line->ns, length) : "",
		 *line->rest ? " " : "", line->rest);
	terminal_spaces(t, line->depth ? column - 3 : column);
	if (line->depth)
		fputs("└─ ", t->file);
	terminal_words(t, text, column);
	putc('\n', t->file);
}

static void chain_write(const struct terminal *t, const struct why_answer *a,
			const struct why_chain *chain)
{
	for (size_t i = chain->first; i < chain->end; i++)
		line_write(t, &a->lines.data[i]);
	if (chain->alike)
		fprintf(t->file, "  (so %s %zu more thread%s)\n", chain->alike == 1 ? "does" : "do",
			chain->alike, chain->alike == 1 ? "" : "s");
}

static void answer_write(const struct terminal *t, const struct why_answer *a, bool is_live)
{
	size_t shown = a->chains.count < CHAINS_SHOWN ? a->chains.count : CHAINS_SHOWN;

	terminal_text(t, a->who.name ? a->who.name : "?");
	fprintf(t->file, " (pid %u), %zu thread%s, %s:\n\n", a->who.pid, a->threads,
		a->threads == 1 ? "" : "s",
		a->at_begin ? "at that time"
		: is_live   ? "a moment ago"
			    : "at the end of the recording");
	for (size_t i = 0; i < shown; i++)
		chain_write(t, a, &a->chains.data[i]);
	if (shown < a->chains.count)
		fprintf(t->file, "  (%zu more threads have waited less, or wait for new work)\n",
			a->chains.count - shown);
	if (a->threads > WHY_THREADS_MOST)
		fprintf(t->file, "  (only %u of its %zu threads were looked at)\n",
			WHY_THREADS_MOST, a->threads);
}

static void process_write(const struct request_answer *a, const struct why_options *o,
			  const struct why_answer *answer)
{
	struct terminal t = terminal_of(stdout);
	struct json json;

	if (!o->json) {
		answer_write(&t, answer, o->unnamed);
		return;
	}
	json_init_file(&json, stdout);
	why_write_json(&json, &a->sources.view, answer);
}

static int process_print(const struct request_answer *a, const struct why_options *o,
			 struct error *e)
{
	struct why_answer answer = {0};
	int err = why_process(a, o->pid, o->at.kind, &answer);

	if (err == -ENOENT)
		err = error_say(e, ENOENT,
				"no process %u lives %s; 'fathom report --by process' lists "
				"them, and --at T looks at another time",
				o->pid,
				o->at.kind ? "at that time"
				: o->unnamed
					? "on this host, or 'fathom up' has not recorded it yet"
					: "at the end of this recording");
	else if (err == -ENOTUNIQ)
		err = error_say(e, ENOTUNIQ,
				"several hosts have a process %u: name the recording of one",
				o->pid);
	else if (!err)
		process_write(a, o, &answer);
	why_free(&answer);
	return err;
}

static void path_write(const struct request_answer *a, const struct why_options *o,
		       const struct critical_answer *answer)
{
	struct terminal t = terminal_of(stdout);
	struct json json;

	if (!o->json) {
		critical_text_write(&t, answer);
		return;
	}
	json_init_file(&json, stdout);
	why_path_write_json(&json, &a->sources.view, answer);
}

static int request_print(const struct request_answer *a, const struct why_options *o,
			 struct error *e)
{
	struct critical_answer answer = {0};
	int err = critical_answer_make(a, o->id, &answer);

	if (err == -ENOENT)
		err = error_say(e, ENOENT,
				"%s no request or call with the id %s; 'fathom requests%s' shows "
				"the slowest ones",
				o->unnamed && !o->at.kind ? "the last ten minutes have"
							  : "this recording has",
				o->id, o->unnamed ? " DIR" : "");
	else if (!err)
		path_write(a, o, &answer);
	critical_answer_free(&answer);
	return err;
}

/* Without a recording, that of a running 'fathom up' is looked at. */
struct running_up {
	char up[UP_DIR_BYTES], path[UP_DIR_BYTES + sizeof(UP_CHUNKS)];
	const char *dir; /* what source_options takes */
};

static int live_find(const struct why_options *o, struct running_up *live,
		     struct source_options *from, struct error *e)
{
	const char *up = up_dir(NULL, live->up);
	struct bytes document = {0};
	int err = up_ask(up, &document, e);

	bytes_free(&document);
	if (err == -ENOENT) {
		*e = (struct error){0};
		return error_say(e, ENOENT,
				 "there is no " DEFAULT_DIR
				 " here, and no 'fathom up' runs in %s: begin one, or name a "
				 "recording, as in 'fathom why DIR ID'",
				 up);
	}
	snprintf(live->path, sizeof(live->path), "%s" UP_CHUNKS, up);
	live->dir = live->path;
	from->dirs = &live->dir;
	from->dirs_count = 1;
	if (!o->at.kind)
		from->from = (struct time_point){.kind = TIME_POINT_BEFORE_END,
						 .ns = o->id ? LIVE_REQUEST_NS : LIVE_PROCESS_NS};
	return err;
}

static int why_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct why_options *o = fields;
	struct terminal t = terminal_of(stdout);
	struct progress_line line = progress_line_begin(stderr);
	struct source_options from = {.dirs = (const char *const *)o->dirs,
				      .dirs_count = o->dirs_count,
				      .boot = o->boot,
				      .threads = o->threads,
				      .from = o->at,
				      .progress = progress_line_of(&line),
				      .notice = progress_line_notice(&line)};
	struct request_answer answer = {0};
	struct running_up live;
	int err = o->unnamed ? live_find(o, &live, &from, e) : 0;

	(void)operands;
	err = err ? err : request_answer_load(&from, REQUEST_PROBABILITY_PPM, &answer, e);
	progress_line_end(&line);
	if (!err)
		err = o->id ? request_print(&answer, o, e) : process_print(&answer, o, e);
	if (!err && !o->json)
		source_write_text(&t, &answer.sources.view);
	if (err && !e->text[0])
		error_set(e, err, "cannot tell why");
	request_answer_free(&answer);
	return err;
}

const struct command command_why = {
	.name = "why",
	.summary = "say in words what a process or a request waits for",
	.usage = "[DIR|FILE...] PID|TRACE_ID|SPAN_ID [--at T] [--json] [--boot N] [--threads N]",
	.description =
		"Of a process: what each of its threads does at the end of the recording, or at\n"
		"--at: since when it waits, for whom, and what that one does. Of a request or a\n"
		"call in it: its critical path, as 'fathom requests --critical' shows it.\n"
		"Without a recording it looks at fathom.data or, where that is missing, at the\n"
		"running 'fathom up' that 'fathom status' shows: a process is looked at now, and "
		"a\n"
		"request of the last ten minutes is found.",
	.examples = "  fathom why \"$(pidof -s postgres)\"   # of the running 'fathom up'\n"
		    "  fathom why 27194 --at 14:05:00\n"
		    "  fathom why 27194 --json | jq -r '.waits[].chain[-1].service'\n"
		    "  fathom why /var/lib/fathom 27194 --at 14:05   # of all that it keeps\n"
		    "  fathom why shop.data 0af7651916cd43dd8448eb211c80319c\n",
	.options = why_option_table,
	.options_bytes = sizeof(struct why_options),
	.takes_recordings = true,
	.check = why_check,
	.run = why_run,
	.release = why_release,
};
