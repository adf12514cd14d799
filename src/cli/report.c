/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "answer/json.h"
#include "answer/load.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/read_options.h"
#include "cli/report_text.h"

static bool has_app_spans(const struct partial *p)
{
	for (size_t i = 0; i < p->spans.count; i++)
		if (p->spans.data[i]->begun || p->spans.data[i]->ended)
			return true;
	return false;
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
				      .to = o->to};
	struct rows rows = {0};
	const char *by = o->by;
	struct source source;
	struct json json;
	int err = source_load(&from, &source, e);

	progress_line_end(&line);
	if (!err) {
		if (!by)
			by = has_app_spans(source.partial) ? "name" : "process";
		err = rows_build(&rows, source.partial, grouping_find(by), o->sort);
		if (err)
			error_set(e, err, "cannot sum up the rows");
	}
	if (!err) {
		struct report view = {.by = by,
				      .sort = o->sort ? o->sort : grouping_find(by)->sort,
				      .from_ns = source.from_ns,
				      .to_ns = source.to_ns,
				      .source = source.view,
				      .rows = rows.rows.data,
				      .rows_count = rows.rows.count};
		struct terminal t = terminal_of(stdout);

		if (o->json) {
			json_init(&json, stdout);
			report_write_json(&json, &view);
		} else
			report_write_text(&t, &view);
	}
	rows_free(&rows);
	source_free(&source);
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
		    "  fathom report --by thread --json fathom.data | jq .rows[0]\n",
	.options = report_option_table,
	.options_bytes = sizeof(struct report_options),
	.check = report_options_check,
	.run = report_run,
};
