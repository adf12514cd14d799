/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/read_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/files.h"
#include "answer/grouping.h"

#define JSON_HELP "print JSON"
#define BOOT_HELP "answer for an earlier boot: -1 is the one before the latest"
#define THREADS_HELP "threads that read chunks (default: one for each CPU)"

/* The keys of answer/keys.c. */
#define KEYS_HELP                                                                                  \
	"name, service, process, thread, program,\ncommand, user, cgroup, container, host, "       \
	"syscall,\nerrno, "                                                                        \
	"file, peer, cause,\nwaker, device or event"

static const char *const default_dirs[] = {DEFAULT_DIR};

#define AT(field) offsetof(struct dir_options, field)
const struct option chunks_option_table[] = {
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{"boot", 0, "N", BOOT_HELP, NULL, AT(boot), option_boot},
	{0},
};

const struct option seal_option_table[] = {
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{0},
};
#undef AT

#define AT(field) offsetof(struct top_options, field)
const char top_usage[] = "[DIR | -p PID... | --cgroup PATH...] [-d TIME] [-n N] [--once]\n"
			 "       [--detail LEVEL] [--by KEYS] [--sort KEY] [--json]";

const struct option top_option_table[] = {
	{"duration", 'd', "TIME", "stop after this time; a bare number counts seconds", NULL,
	 AT(duration_ns), option_seconds},
	{"count", 'n', "N", "stop after showing this many seconds", NULL, AT(count), option_count},
	{"once", 0, NULL, "show one second and stop", NULL, AT(once), option_flag},
	{"pid", 'p', "PID", "only these processes, and the children they start later", NULL,
	 AT(pids), option_pids},
	{"cgroup", 0, "PATH", "only the processes of this cgroup", NULL, AT(cgroups), option_texts},
	{"detail", 0, "LEVEL", "calls or waits (default: waits for the whole host, else\ncalls)",
	 NULL, AT(detail), option_detail},
	{"by", 0, "KEYS", "a row per " KEYS_HELP ", as in 'fathom report'", NULL, AT(by),
	 option_text},
	{"sort", 0, "KEY", "cpu, total, count, errors, p99, max or key", NULL, AT(sort),
	 option_text},
	{"json", 0, NULL, "print JSON, a line for each second", NULL, AT(json), option_flag},
	{0},
};
#undef AT

const struct option doctor_option_table[] = {
	{"json", 0, NULL, JSON_HELP, NULL, offsetof(struct doctor_options, json), option_flag},
	{0},
};

static int no_command(const struct operands *operands, struct error *e)
{
	if (operands->command)
		return error_say(e, EINVAL, "no argument is allowed after --");
	return 0;
}

int dir_options_check(void *options, const struct operands *operands, struct error *e)
{
	struct dir_options *o = options;

	if (operands->count > 1)
		return error_say(e, EINVAL, "only one directory is allowed; '%s' is a second one",
				 operands->items[1]);
	o->dir = operands->count ? operands->items[0] : DEFAULT_DIR;
	return no_command(operands, e);
}

#define AT(field) offsetof(struct report_options, field)
const char report_usage[] =
	"[DIR|FILE...] [--by KEYS] [--sort KEY] [--from T] [--to T] [--boot N]\n"
	"       [--threads N] [--json]";

const struct option report_option_table[] = {
	{"by", 0, "KEYS", "a row per " KEYS_HELP ";\nor per pair, like process,file", NULL, AT(by),
	 option_text},
	{"sort", 0, "KEY",
	 "cpu, total, count, errors, p50, p95, p99, max or key\n"
	 "(default: total; for processes and threads: cpu)",
	 NULL, AT(sort), option_text},
	{"from", 0, "T",
	 "begin of the range: a time of day like 11:31:17, a date and time\nlike "
	 "2026-11-26T14:03:00Z, "
	 "-5m before the end, 1.5s after the begin,\nor monotonic ns",
	 NULL, AT(from), option_time},
	{"to", 0, "T", "end of the range, given in the same way", NULL, AT(to), option_time},
	{"boot", 0, "N", BOOT_HELP, NULL, AT(boot), option_boot},
	{"threads", 0, "N", THREADS_HELP, NULL, AT(threads), option_count},
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{0},
};
#undef AT

static int word_check(const char *option, const char *word, const char *const *words,
		      struct error *e)
{
	char known[128] = "";
	size_t length = 0;

	for (; *words; words++) {
		if (strcmp(word, *words) == 0)
			return 0;
		length += snprintf(known + length, sizeof(known) - length, "%s%s",
				   length ? ", " : "", *words);
		length = length < sizeof(known) ? length : sizeof(known) - 1;
	}
	return error_say(e, EINVAL, "--%s cannot be '%s'; it is one of %s", option, word, known);
}

static int by_check(const char *by, struct error *e)
{
	struct grouping grouping;
	struct error why = {0};

	if (!by || grouping_make(&grouping, by, &why) == 0)
		return 0;
	return error_say(e, EINVAL, "--by %s", why.text);
}

int top_options_check(void *options, const struct operands *operands, struct error *e)
{
	static const char *const sorts[] = {"cpu", "total", "count", "errors",
					    "p99", "max",   "key",   NULL};
	struct top_options *o = options;
	int err = no_command(operands, e);

	err = err ? err : by_check(o->by, e);
	if (!err && o->sort)
		err = word_check("sort", o->sort, sorts, e);
	if (!err && operands->count > 1)
		err = error_say(e, EINVAL, "only one directory is allowed; '%s' is a second one",
				operands->items[1]);
	o->dir = operands->count ? operands->items[0] : NULL;
	if (!err && o->dir && (o->pids.count || o->cgroups.count))
		err = error_say(e, EINVAL,
				"the recorder of %s has chosen what to record: leave out -p "
				"and --cgroup",
				o->dir);
	if (!err && o->dir && o->detail.given)
		err = error_say(e, EINVAL,
				"the recorder of %s has chosen the level: leave out --detail",
				o->dir);
	if (!o->detail.given)
		o->detail.waits = !o->pids.count && !o->cgroups.count;
	if (o->once)
		o->count = 1;
	return err;
}

void top_options_release(void *options)
{
	struct top_options *o = options;

	vec_free(&o->pids);
	option_list_free(&o->cgroups);
}

int report_options_check(void *options, const struct operands *operands, struct error *e)
{
	static const char *const sorts[] = {"cpu", "total", "count", "errors", "p50",
					    "p95", "p99",   "max",   "key",    NULL};
	struct report_options *o = options;
	int err = no_command(operands, e);

	err = err ? err : by_check(o->by, e);
	if (!err && o->sort)
		err = word_check("sort", o->sort, sorts, e);
	if (!err && time_points_cross(&o->from, &o->to))
		err = error_say(e, EINVAL, "--from must lie before --to");
	o->dirs = operands->count ? (const char *const *)operands->items : default_dirs;
	o->dirs_count = operands->count ? operands->count : 1;
	if (!err && (o->from.kind || o->to.kind) && has_partial_path(o->dirs, o->dirs_count))
		err = error_say(e, EINVAL,
				"the range of a partial file is chosen when its chunks are mapped: "
				"give --from and --to to 'fathom map'");
	return err;
}

#define AT(field) offsetof(struct trace_options, field)
const char trace_usage[] =
	"[DIR|FILE...] [TRACE_ID | --all | [--slowest N] [--name GLOB] [--service NAME]]\n"
	"       [--pid N] [--tid N] [--boot N] [--threads N] [--json]";

const struct option trace_option_table[] = {
	{"slowest", 0, "N", "the N longest of the traces that match", NULL, AT(slowest),
	 option_count},
	{"name", 0, "GLOB", "traces with an application span whose name matches", NULL, AT(name),
	 option_text},
	{"service", 0, "NAME", "traces with a span of this service", NULL, AT(service),
	 option_text},
	{"all", 0, NULL, "every trace, then what each thread did outside of spans", NULL, AT(all),
	 option_flag},
	{"pid", 0, "N", "only spans of this process", NULL, AT(pid), option_pid},
	{"tid", 0, "N", "only spans of this thread", NULL, AT(tid), option_pid},
	{"boot", 0, "N", BOOT_HELP, NULL, AT(boot), option_boot},
	{"threads", 0, "N", THREADS_HELP, NULL, AT(threads), option_count},
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{0},
};
#undef AT

/* 32 hex digits that name neither a directory nor a file */
static bool is_trace_id(const char *text)
{
	struct stat st;

	if (strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32)
		return false;
	return stat(text, &st) != 0;
}

/* Whether this looks like an incomplete trace id. */
static bool is_cut_trace_id(const char *text)
{
	size_t digits = strspn(text, "0123456789abcdefABCDEF");
	struct stat st;

	return digits >= 8 && !text[digits] && stat(text, &st) != 0;
}

int trace_options_check(void *options, const struct operands *operands, struct error *e)
{
	struct trace_options *o = options;
	int choices;

	o->dirs = calloc(operands->count + 1, sizeof(*o->dirs));
	if (!o->dirs)
		return error_set(e, ENOMEM, "cannot read the command line");
	for (size_t i = 0; i < operands->count; i++) {
		if (is_cut_trace_id(operands->items[i]) && !is_trace_id(operands->items[i]))
			return error_say(
				e, EINVAL,
				"%s is no directory or file, and a trace id has 32 hex digits",
				operands->items[i]);
		if (!is_trace_id(operands->items[i]))
			o->dirs[o->dirs_count++] = operands->items[i];
		else if (o->trace_id)
			return error_say(e, EINVAL, "only one trace id is allowed");
		else
			o->trace_id = operands->items[i];
	}
	if (o->dirs_count == 0)
		o->dirs[o->dirs_count++] = DEFAULT_DIR;
	choices = !!o->trace_id + (o->slowest || o->name || o->service) + o->all;
	if (choices > 1)
		return error_say(e, EINVAL,
				 "TRACE_ID, --all, and the filters --slowest, --name and "
				 "--service cannot be combined");
	return no_command(operands, e);
}

void trace_options_release(void *options)
{
	free(((struct trace_options *)options)->dirs);
}
