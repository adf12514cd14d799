/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "answer/json.h"
#include "answer/report.h"
#include "answer/request_rows.h"
#include "answer/requests.h"
#include "base/units.h"
#include "cli/answer_text.h"
#include "cli/command.h"
#include "cli/critical_text.h"
#include "cli/json_file.h"
#include "cli/progress.h"
#include "cli/report_text.h"
#include "cli/request_dot.h"
#include "cli/request_options.h"
#include "cli/trace_text.h"

#define SLOWEST_SHOWN 3	  /* below the table of operations */
#define SELECTED_SHOWN 10 /* of requests that were selected without a number */
#define OPERATIONS_SHOWN 30

static struct request_choice choice_of(const struct request_options *o)
{
	return (struct request_choice){.trace_id = o->trace_id,
				       .through = o->through,
				       .slowest = o->slowest,
				       .errors = o->errors,
				       .all = o->all,
				       .kernel = o->kernel,
				       .min_probability_ppm = o->min_probability_ppm};
}

/* ---- JSON ---- */

static int json_take(void *arg, const struct trace *trace)
{
	return trace_write_json(arg, trace);
}

static int json_line_take(void *arg, const struct trace *trace)
{
	return trace_write_json_line(arg, trace);
}

static int json_print(const struct request_answer *a, const struct request_choice *choice,
		      struct request_counts *counts, const struct critical_answer *critical)
{
	struct json json;
	int err;

	json_init_file(&json, stdout);
	requests_json_begin(&json, &a->sources.view, a->offsets.data, a->offsets.count);
	err = request_answer_give(a, choice, &(struct trace_sink){json_take, &json}, counts);
	requests_json_end(&json, critical);
	return err;
}

static int lines_print(const struct request_answer *a, const struct request_choice *choice,
		       FILE *file, struct request_counts *counts)
{
	struct terminal t = terminal_of(stderr);
	struct json json;
	int err;

	json_init_file(&json, file);
	err = request_answer_give(a, choice, &(struct trace_sink){json_line_take, &json}, counts);
	source_write_text(&t, &a->sources.view);
	return err;
}

/* Gives the requests to a command, a line each. Its output is the answer. */
static int each_run(const struct request_answer *a, const struct request_options *o,
		    struct request_counts *counts, struct error *e)
{
	const struct request_choice choice = choice_of(o);
	void (*pipe_was)(int) = signal(SIGPIPE, SIG_IGN);
	FILE *to;
	int err, status;

	fflush(stdout);
	to = popen(o->each, "w");
	if (!to)
		return error_say(e, errno, "cannot run '%s'", o->each);
	err = lines_print(a, &choice, to, counts);
	status = pclose(to);
	signal(SIGPIPE, pipe_was);
	if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status))
		return error_say(e, ECHILD, "the command of --each failed: %s", o->each);
	return err == -EIO ? 0 : err; /* it need not read all of them */
}

/* ---- critical paths ---- */

static int critical_print(const struct request_answer *a, const struct request_options *o,
			  struct request_counts *counts, struct error *e)
{
	struct terminal t = terminal_of(stdout);
	struct critical_answer critical = {0};
	int err = critical_answer_make(a, o->critical, &critical);
	const struct request_choice choice = {.trace_id = critical.trace_id};

	counts->given = 1;
	if (err == -ENOENT)
		err = error_say(e, ENOENT,
				"this recording has no request with the id %s; 'fathom requests' "
				"shows the slowest ones",
				o->critical);
	else if (!err && o->json)
		err = json_print(a, &choice, counts, &critical);
	else if (!err)
		critical_text_write(&t, &critical);
	if (!err && !o->json)
		source_write_text(&t, &a->sources.view);
	critical_answer_free(&critical);
	return err;
}

/* ---- graphs ---- */

static int dot_take(void *arg, const struct trace *trace)
{
	return request_dot_trace(arg, trace);
}

static int rows_of(const struct request_answer *a, enum request_rows_by by, const char *sort,
		   struct rows *rows)
{
	int err = request_rows_fill(rows, &a->requests, by);

	return err ? err : rows_finish(rows, sort);
}

static int dot_print(const struct request_answer *a, const struct request_options *o,
		     struct request_counts *counts)
{
	struct request_choice choice = choice_of(o);
	struct rows rows = {0};
	int err;

	if (request_options_select(o)) {
		choice.brief = true;
		choice.slowest = 1;
		return request_answer_give(a, &choice, &(struct trace_sink){dot_take, stdout},
					   counts);
	}
	err = rows_of(a, REQUEST_ROWS_EDGE, "total", &rows);
	if (!err)
		request_dot_edges(stdout, rows.rows.data, rows.rows.count);
	counts->given = rows.rows.count;
	rows_free(&rows);
	return err;
}

/* ---- text ---- */

static int text_take(void *arg, const struct trace *trace)
{
	return trace_text_write(arg, trace);
}

/* The table of operations. What the answer lacks is told below the requests. */
static int operations_write(const struct terminal *t, const struct request_answer *a)
{
	const struct source *one = a->sources.list.data[0];
	struct rows rows = {0};
	int err = rows_of(a, REQUEST_ROWS_OPERATION, "own", &rows);
	struct report report = {.by = "operation",
				.sort = "own",
				.hosts = a->sources.several ? a->sources.list.count : 0,
				.from_ns = one->from_ns,
				.to_ns = one->to_ns,
				.source = {.clocks = a->sources.view.clocks,
					   .clocks_count = a->sources.view.clocks_count}};

	report.rows = rows.rows.data;
	report.rows_count = report.rows_total = rows.rows.count;
	if (report.rows_count > OPERATIONS_SHOWN)
		report.rows_count = OPERATIONS_SHOWN;
	if (!err && report.rows_count)
		report_write_text(t, &report);
	rows_free(&rows);
	return err;
}

static void counts_write(const struct terminal *t, const struct request_options *o,
			 const struct request_counts *counts)
{
	if (counts->requests > counts->given && !o->trace_id)
		terminal_sentence(t, "requests: ", "%zu of %zu are shown%s", counts->given,
				  counts->requests,
				  o->slowest ? "" : ": --slowest N shows more, --json all");
	if (!o->all && counts->inside)
		terminal_sentence(t, "left out: ",
				  "%zu calls of services that belong to no request, like timers' "
				  "and connections' own: --all shows them",
				  counts->inside);
	if (!o->all && counts->streams)
		terminal_sentence(t, "left out: ", "%zu bursts of one-way streams",
				  counts->streams);
}

/* Tells how the clocks of each two hosts differ: by the narrowest of the intervals. */
static void clocks_write(const struct terminal *t, const struct request_answer *a)
{
	for (size_t i = 0, end; i < a->offsets.count; i = end) {
		const struct clock_offset_view *list = a->offsets.data, *best = &list[i];
		char half[UNITS_TEXT_BYTES];

		for (end = i; end < a->offsets.count && list[end].host == list[i].host &&
			      list[end].against == list[i].against;
		     end++)
			if (list[end].max_ns - list[end].min_ns < best->max_ns - best->min_ns)
				best = &list[end];
		units_format_ns((best->max_ns - best->min_ns + 1) / 2, half);
		terminal_sentence(
			t, "clocks: ",
			"that of %s is ahead of that of %s by %+.6f s, give or take %s, by "
			"the messages between them; spans of other hosts are shown in the "
			"middle of that",
			best->host, best->against,
			(double)(best->min_ns + (best->max_ns - best->min_ns) / 2) / 1e9, half);
	}
	if (a->requests.impossible)
		terminal_sentence(
			t, "clocks: ",
			"%zu calls begin before they were sent, or end after they were "
			"answered, by more than the clocks can differ: a clock was set, or "
			"two ends are not of one connection",
			a->requests.impossible);
	if (a->requests.offsets.contradictory)
		terminal_sentence(
			t, "clocks: ",
			"%zu stretches of %d messages between hosts contradict each other",
			a->requests.offsets.contradictory, CLOCK_STRETCH_MESSAGES);
}

static int text_print(const struct request_answer *a, const struct request_options *o,
		      struct request_counts *counts)
{
	struct terminal t = terminal_of(stdout);
	struct request_choice choice = choice_of(o);
	struct trace_text text;
	int err = request_options_select(o) ? 0 : operations_write(&t, a);

	choice.brief = true;
	if (!choice.slowest && !choice.trace_id)
		choice.slowest = request_options_select(o) ? SELECTED_SHOWN : SLOWEST_SHOWN;
	if (err)
		return err;
	if (!request_options_select(o) && a->requests.traces.count)
		fputs("\nthe slowest requests:\n\n", stdout);
	trace_text_begin(&text, &t, &a->sources.view);
	err = request_answer_give(a, &choice, &(struct trace_sink){text_take, &text}, counts);
	if (counts->given) {
		trace_text_end(&text);
		counts_write(&t, o, counts);
		clocks_write(&t, a);
	}
	return err;
}

/* ---- the command ---- */

static int nothing_given(const struct request_answer *a, const struct request_options *o,
			 const struct request_counts *counts, struct error *e)
{
	bool bytes = !(a->sources.view.filters & (FILTER_BYTES | FILTER_CALLS));

	for (size_t i = 0; i < a->sources.list.count; i++)
		bytes |= a->sources.list.data[i]->partial->facts.bytes.count != 0;
	if (o->trace_id)
		return error_say(e, ENOENT,
				 "this recording has no request %s; 'fathom requests' "
				 "shows the slowest ones",
				 o->trace_id);
	if (o->errors && counts->requests)
		return error_say(e, ENOENT, "each of the %zu requests got an answer",
				 counts->requests);
	if (o->through && counts->requests)
		return error_say(e, ENOENT,
				 "no request passes through '%s'; 'fathom report --by operation' "
				 "lists services",
				 o->through);
	if (!bytes)
		return error_say(e, ENODATA,
				 "this recording has no byte ranges, by which requests are "
				 "followed: record with --detail waits,bytes or --detail calls");
	if (counts->inside || counts->streams)
		return error_say(
			e, ENOENT,
			"this recording has calls and streams, but no request from outside: "
			"--all shows them");
	return error_say(e, ENOENT,
			 "this recording has no requests: nothing was sent and answered "
			 "over TCP or a Unix socket while it ran");
}

static int answer_print(const struct request_answer *a, const struct request_options *o,
			struct request_counts *counts, struct error *e)
{
	const struct request_choice choice = choice_of(o);

	if (o->critical)
		return critical_print(a, o, counts, e);
	if (o->each)
		return each_run(a, o, counts, e);
	if (o->json)
		return json_print(a, &choice, counts, NULL);
	if (o->json_lines)
		return lines_print(a, &choice, stdout, counts);
	return o->dot ? dot_print(a, o, counts) : text_print(a, o, counts);
}

static int requests_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct request_options *o = fields;
	struct progress_line line = progress_line_begin(stderr);
	const struct source_options from = {.dirs = (const char *const *)o->dirs,
					    .dirs_count = o->dirs_count,
					    .boot = o->boot,
					    .threads = o->threads,
					    .from = o->from,
					    .to = o->to,
					    .progress = progress_line_of(&line),
					    .notice = progress_line_notice(&line)};
	bool all = !request_options_select(o) && (o->json || o->json_lines || o->each);
	struct request_counts counts = {0};
	struct request_answer answer;
	int err = request_answer_load(&from, o->min_probability_ppm, &answer, e);

	(void)operands;
	progress_line_end(&line);
	if (!err && (err = answer_print(&answer, o, &counts, e)) && !e->text[0])
		error_set(e, err, "cannot write the requests");
	if (!err && !counts.given && !all)
		err = nothing_given(&answer, o, &counts, e);
	request_answer_free(&answer);
	return err;
}

const struct command command_requests = {
	.name = "requests",
	.summary = "follow requests through services that nobody instrumented",
	.usage = request_usage,
	.description =
		"Follows each request from the first service that it reaches through all others, "
		"by\n"
		"the bytes that they exchange and by which thread did what. The default is a "
		"table\n"
		"of what was served, and the slowest requests as waterfalls: a line for each "
		"call,\n"
		"with what its server did in that time. A '?' marks a call that may belong to\n"
		"another request, with how sure it is and what says so.\n"
		"The recording must have ranges of bytes: --detail calls or waits,bytes.",
	.examples = "  fathom record -a --detail waits,bytes -d 10 && fathom requests\n"
		    "  fathom requests --slowest 5 --through redis-server\n"
		    "  fathom requests --errors --from 14:03:00 --to 14:05:00\n"
		    "  fathom requests --critical 0af7651916cd43dd8448eb211c80319c\n"
		    "  fathom requests --dot | dot -Tsvg > services.svg\n"
		    "  fathom requests --each 'jq -r .trace_id | sort | uniq -c'\n",
	.options = request_option_table,
	.options_bytes = sizeof(struct request_options),
	.takes_recordings = true,
	.check = request_options_check,
	.run = requests_run,
	.release = request_options_release,
};
