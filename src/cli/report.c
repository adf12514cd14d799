/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "answer/json.h"
#include "answer/report.h"
#include "cli/answer_text.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "cli/progress.h"
#include "cli/read_options.h"
#include "cli/report_functions.h"
#include "cli/report_text.h"

/* Prints a row a line. What the answer lacks is told beside it. */
static void lines_print(const struct report *report)
{
	struct terminal t = terminal_of(stderr);
	struct json json;

	json_init_file(&json, stdout);
	report_write_json_lines(&json, report);
	source_write_text(&t, &report->source);
}

static void report_print(const struct report *report, const struct report_options *o)
{
	struct terminal t = terminal_of(stdout);
	struct json json;

	if (o->json_lines) {
		lines_print(report);
	} else if (o->json) {
		json_init_file(&json, stdout);
		report_write_json(&json, report);
	} else {
		report_write_text(&t, report);
	}
}

/* One factor scales all rows: it suits where calls of all threads were recorded at the same times.
 */
static int scale_check(const struct report_options *o, const struct sources *sources,
		       struct error *e)
{
	if (!o->scale || !(sources->view.filters & FILTER_SCOPES))
		return 0;
	return error_misuse(e, "--scale: calls of some threads were recorded in more of the time "
			       "than those of others (--detail ...,SCOPE=LEVEL)");
}

static int report_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct report_options *o = fields;
	struct progress_line line = progress_line_begin(stderr);
	struct source_options from = {.dirs = o->dirs,
				      .dirs_count = o->dirs_count,
				      .boot = o->boot,
				      .threads = o->threads,
				      .progress = progress_line_of(&line),
				      .notice = progress_line_notice(&line),
				      .from = o->from,
				      .to = o->to,
				      .hits = o->by && strcmp(o->by, "overhead") == 0};
	const struct filter filter = filter_of(&o->filter);
	const struct profile_choice profile = report_profile_choice(o, &filter);
	const struct report_choice choice = {.by = o->by,
					     .sort = o->sort,
					     .limit = o->limit,
					     .scale = o->scale,
					     .filter = filter,
					     .profile = &profile};
	struct rows rows = {0};
	struct report report;
	struct sources sources;
	int err;

	from.sums = report_sums(&choice);
	from.spans = (report_of_functions(o) && profile.parts) || report_wants_spans(&choice, NULL);
	err = sources_load(&from, &sources, e);
	if (!err && !from.spans && report_wants_spans(&choice, &sources)) {
		sources_free(&sources);
		from.spans = true;
		from.notice = (struct notice){0}; /* the first reading has told it */
		err = sources_load(&from, &sources, e);
	}
	progress_line_end(&line);
	if (!err && report_of_functions(o))
		err = report_profile_check(o, &profile, &sources, e);
	err = err ? err : scale_check(o, &sources, e);
	if (!err && (o->flame || o->folded)) {
		err = report_profile_write(o, &profile, &sources, e);
	} else if (!err) {
		err = report_make(&report, &rows, &sources, &choice);
		if (err)
			error_set(e, err, "cannot sum up the rows");
		else
			report_print(&report, o);
	}
	rows_free(&rows);
	sources_free(&sources);
	return err;
}

const struct command command_report = {
	.name = "report",
	.summary = "show where the time of spans, threads or processes went",
	.usage = report_usage,
	.description =
		"Summarizes a recording. Each row has a count, the total time, percentiles, "
		"and its\n"
		"time split: on a CPU, waiting for a CPU, throttled, or blocked and on what. "
		"The parts\n"
		"sum to the total exactly; time that was not seen is \"unknown\".",
	.examples = "  fathom report\n"
		    "  fathom report --by syscall --sort p99\n"
		    "  fathom report --by thread --json fathom.data | jq .rows[0]\n"
		    "  fathom report --flame cpu.svg\n",
	.options = report_option_table,
	.options_bytes = sizeof(struct report_options),
	.takes_recordings = true,
	.check = report_options_check,
	.run = report_run,
	.release = report_options_release,
};
