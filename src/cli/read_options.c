/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/read_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/files.h"
#include "answer/grouping.h"
#include "answer/live.h"
#include "answer/profile.h"
#include "cli/reading_help.h"
#include "cli/recording_operands.h"

/* The keys of answer/keys.c. */
#define KEYS_HELP                                                                                  \
	"name, service, process, thread, program,\ncommand, user, cgroup, container, host, "       \
	"syscall,\nerrno, "                                                                        \
	"file, peer, cause, waker,\npreempted-by, lock, device, event, operation, edge,\n"         \
	"function, or overhead (what recording cost)"

static const char *const default_dirs[] = {DEFAULT_DIR};

#define AT(field) offsetof(struct dir_options, field)
const struct option chunks_option_table[] = {
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{"from", 0, "T", FROM_HELP, NULL, AT(from), option_time},
	{"to", 0, "T", TO_HELP, NULL, AT(to), option_time},
	{"boot", 0, "N", BOOT_HELP, NULL, AT(boot), option_boot},
	{0},
};

const struct option stop_option_table[] = {
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
	{"pid", 'p', "PID", "only these processes, and their children, of now and later", NULL,
	 AT(pids), option_pids},
	{"cgroup", 0, "PATH", "only the processes of this cgroup", NULL, AT(cgroups), option_texts},
	{"detail", 0, "LEVEL",
	 "calls, waits or waits,bytes (default: waits for the whole\nhost, with bytes for rows of "
	 "requests, else calls)",
	 NULL, AT(detail), option_detail},
	{"by", 0, "KEYS", "a row per " KEYS_HELP ", as in 'fathom report'", NULL, AT(by),
	 option_text},
	{"sort", 0, "KEY", "cpu, work, total, count, errors, p99, max or key", NULL, AT(sort),
	 option_text},
	FILTER_OPTIONS_REST(top_options),
	{"service", 0, "NAME", "only spans and processes of this service", NULL,
	 FILTER_OPTION(top_options, service), option_text},
	{"name", 0, "GLOB", "only spans whose name matches", NULL, FILTER_OPTION(top_options, name),
	 option_text},
	{"limit", 0, "N", "at most so many rows of each kind", NULL, AT(limit), option_count},
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

int chunks_options_check(void *options, const struct operands *operands, struct error *e)
{
	const struct dir_options *o = options;

	if (time_points_cross(&o->from, &o->to))
		return error_say(e, EINVAL, "--from must lie before --to");
	return dir_options_check(options, operands, e);
}

#define AT(field) offsetof(struct report_options, field)
const char report_usage[] =
	"[DIR|FILE...] [--by KEYS] [--sort KEY] [--from T] [--to T] [--limit N] [--scale]\n"
	"       [--flame FILE | --folded] [--of LIST]\n"
	"       [--pid PIDS] [--tid TID] [--program NAME] [--command GLOB] [--service NAME]\n"
	"       [--name GLOB] [--cgroup PATH] [--file GLOB] [--peer GLOB] [--syscall LIST]\n"
	"       [--boot N] [--threads N] [--json | --json-lines]";

const struct option report_option_table[] = {
	{"by", 0, "KEYS", "a row per " KEYS_HELP ";\nor per pair, like process,file", NULL, AT(by),
	 option_text},
	{"flame", 0, "FILE", "write a flame graph of the functions, as SVG", NULL, AT(flame),
	 option_text},
	{"folded", 0, NULL, "print the stacks, folded, a line each", NULL, AT(folded), option_flag},
	{"of", 0, "LIST",
	 "functions of what: cpu (with record --sample), waits (with\nrecord --stacks), or causes "
	 "of waits: disk,lock (default: cpu)",
	 NULL, AT(of), option_text},
	{"sort", 0, "KEY",
	 "cpu, work, total, own, callees, count, errors, p50, p95, p99, max\nor key "
	 "(default: cpu for processes and threads, total for spans,\ncount for events and errors, "
	 "else work)",
	 NULL, AT(sort), option_text},
	{"from", 0, "T", FROM_HELP, NULL, AT(from), option_time},
	{"to", 0, "T", TO_HELP, NULL, AT(to), option_time},
	FILTER_OPTIONS_SCOPE(report_options),
	FILTER_OPTIONS_REST(report_options),
	{"service", 0, "NAME", "only spans and processes of this service", NULL,
	 FILTER_OPTION(report_options, service), option_text},
	{"name", 0, "GLOB", "only spans whose name matches", NULL,
	 FILTER_OPTION(report_options, name), option_text},
	{"limit", 0, "N", "at most so many rows", NULL, AT(limit), option_count},
	{"scale", 0, NULL,
	 "scale rows of calls to all of the time, where calls were\nrecorded in a part of it", NULL,
	 AT(scale), option_flag},
	{"boot", 0, "N", BOOT_HELP, NULL, AT(boot), option_boot},
	{"threads", 0, "N", THREADS_HELP, NULL, AT(threads), option_count},
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{"json-lines", 0, NULL, JSON_LINES_HELP "row", NULL, AT(json_lines), option_flag},
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

static int by_check(const char *by, const struct filter_options *options, struct error *e)
{
	const struct filter filter = filter_of(options);
	struct grouping grouping;
	struct error why = {0};

	if (!by) /* the rows that suit the filter */
		by = filter.name ? "name" : "process";
	if (grouping_make(&grouping, by, &filter, &why) == 0)
		return 0;
	return error_say(e, EINVAL, "--by %s", why.text);
}

int top_options_check(void *options, const struct operands *operands, struct error *e)
{
	static const char *const sorts[] = {"cpu", "work", "total", "count", "errors",
					    "p99", "max",  "key",   NULL};
	struct top_options *o = options;
	int err = no_command(operands, e);

	err = err ? err : by_check(o->by, &o->filter, e);
	if (!err && o->by && strcmp(o->by, "function") == 0)
		err = error_say(e, EINVAL,
				"--by function is for 'fathom report': top takes no samples");
	if (!err && o->sort)
		err = word_check("sort", o->sort, sorts, e);
	if (!err && operands->count > 1)
		err = error_say(e, EINVAL, "only one directory is allowed; '%s' is a second one",
				operands->items[1]);
	o->dir = operands->count ? operands->items[0] : NULL;
	if (!err && o->dir && o->cgroups.count > 1)
		err = error_say(e, EINVAL, "only one --cgroup can choose rows of %s", o->dir);
	if (!err && o->dir && o->detail.given)
		err = error_say(e, EINVAL,
				"the recorder of %s has chosen the level: leave out --detail",
				o->dir);
	if (!err && o->detail.calls_ns)
		err = error_say(e, EINVAL, "--detail calls=TIME/TIME is for 'fathom record'");
	if (!err && o->detail.scope_count)
		err = error_say(e, EINVAL, "--detail SCOPE=LEVEL is for 'fathom record'");
	if (!o->detail.given) {
		o->detail.waits = !o->pids.count && !o->cgroups.count;
		o->detail.bytes = live_is_of_requests(o->by);
	}
	if (o->once)
		o->count = 1;
	return err;
}

void top_options_release(void *options)
{
	struct top_options *o = options;

	vec_free(&o->pids);
	option_list_free(&o->cgroups);
	free(o->detail.words);
	filter_options_release(&o->filter);
}

static int functions_check(const struct report_options *o, struct error *e)
{
	u32 parts;

	if (o->flame && o->folded)
		return error_say(e, EINVAL, "--flame and --folded are two outputs: leave one out");
	if ((o->flame || o->folded) && (o->json || (o->by && strcmp(o->by, "function"))))
		return error_say(
			e, EINVAL,
			"--flame and --folded are of functions: leave out --by and --json");
	if (!report_of_functions(o) && o->of)
		return error_say(e, EINVAL,
				 "--of is of functions: add --by function, --flame or --folded");
	if (report_of_functions(o) && (o->filter.file || o->filter.peer || o->filter.syscall))
		return error_say(e, EINVAL,
				 "functions cannot be filtered by --file, --peer or --syscall");
	if (o->of && profile_parts(o->of, &parts))
		return error_say(e, EINVAL,
				 "--of cannot be '%s'; it is cpu, waits, or causes of waits like "
				 "disk,lock",
				 o->of);
	return 0;
}

int report_options_check(void *options, const struct operands *operands, struct error *e)
{
	static const char *const sorts[] = {"cpu",   "work",   "total", "own", "callees",
					    "count", "errors", "p50",	"p95", "p99",
					    "max",   "key",    NULL};
	struct report_options *o = options;
	int err = no_command(operands, e);

	err = err ? err : by_check(o->by, &o->filter, e);
	if (!err && o->sort)
		err = word_check("sort", o->sort, sorts, e);
	err = err ? err : functions_check(o, e);
	o->dirs = operands->count ? (const char *const *)operands->items : default_dirs;
	o->dirs_count = operands->count ? operands->count : 1;
	err = err ? err : recording_range_check(&o->from, &o->to, o->dirs, o->dirs_count, e);
	if (!err && o->filter.tid && o->by && has_partial_path(o->dirs, o->dirs_count))
		err = error_say(e, EINVAL,
				"the sums of a partial file do not tell threads apart: leave out "
				"--tid, or name its chunks");
	if (!err && o->json && o->json_lines)
		err = error_say(e, EINVAL, "--json and --json-lines cannot be combined");
	return err;
}

void report_options_release(void *options)
{
	filter_options_release(&((struct report_options *)options)->filter);
}

#define AT(field) offsetof(struct trace_options, field)
const char trace_usage[] =
	"[DIR|FILE...] [TRACE_ID | --all | [--slowest N] [--name GLOB] [--service NAME]]\n"
	"       [--pid PIDS] [--tid TID] [--program NAME] [--command GLOB] [--cgroup PATH]\n"
	"       [--file GLOB] [--peer GLOB] [--syscall LIST] [--min TIME] [--limit N]\n"
	"       [--from T] [--to T] [--boot N] [--threads N] [--json | --json-lines]";

const struct option trace_option_table[] = {
	{"slowest", 0, "N", "the N longest of the traces that match", NULL, AT(slowest),
	 option_count},
	{"name", 0, "GLOB", "traces with an application span whose name matches", NULL,
	 FILTER_OPTION(trace_options, name), option_text},
	{"service", 0, "NAME", "traces with a span of this service", NULL,
	 FILTER_OPTION(trace_options, service), option_text},
	{"all", 0, NULL, "every trace, then what each thread did outside of spans", NULL, AT(all),
	 option_flag},
	FILTER_OPTIONS_SCOPE(trace_options),
	FILTER_OPTIONS_REST(trace_options),
	{"min", 0, "TIME", "leave out spans that are shorter, and say how many and how long", NULL,
	 AT(min_ns), option_duration},
	{"limit", 0, "N", "at most so many traces", NULL, AT(limit), option_count},
	{"from", 0, "T", FROM_HELP, NULL, AT(from), option_time},
	{"to", 0, "T", TO_HELP, NULL, AT(to), option_time},
	{"boot", 0, "N", BOOT_HELP, NULL, AT(boot), option_boot},
	{"threads", 0, "N", THREADS_HELP, NULL, AT(threads), option_count},
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{"json-lines", 0, NULL, JSON_LINES_HELP "trace", NULL, AT(json_lines), option_flag},
	{0},
};
#undef AT

int trace_options_check(void *options, const struct operands *operands, struct error *e)
{
	struct trace_options *o = options;
	int choices, err;

	err = recording_operands_read(operands, &o->dirs, &o->dirs_count, &o->trace_id, e);
	if (err)
		return err;
	choices = !!o->trace_id + (o->slowest || o->filter.name || o->filter.service) + o->all;
	if (choices > 1)
		return error_say(e, EINVAL,
				 "TRACE_ID, --all, and the filters --slowest, --name and "
				 "--service cannot be combined");
	if (o->json && o->json_lines)
		return error_say(e, EINVAL, "--json and --json-lines cannot be combined");
	return recording_range_check(&o->from, &o->to, (const char *const *)o->dirs, o->dirs_count,
				     e);
}

void trace_options_release(void *options)
{
	filter_options_release(&((struct trace_options *)options)->filter);
	free(((struct trace_options *)options)->dirs);
}
