/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/answer_text.h"
#include "cli/bar.h"
#include "cli/report_layout.h"
#include "cli/report_row.h"

static const char *const rank_names[REPORT_RANKS] = {"p50", "p95", "p99", "max"};

static void duration_write(const struct terminal *t, uint64_t ns, bool absent, int columns)
{
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, " %*s", columns - 1, absent ? "-" : units_format_ns((int64_t)ns, text));
}

/* By cause a row has only one part: its bar is its share of all rows. */
static void cause_write_text(const struct terminal *t, const struct row *row,
			     unsigned __int128 all_ns, int bar)
{
	int cells = (int)(row->total_ns * (unsigned __int128)bar / all_ns);
	int percent = (int)(row->total_ns * (unsigned __int128)100 / all_ns);

	fputs("  ", t->file);
	bar_write(t, &row->time, cells);
	fprintf(t->file, "%*s  %d%%", bar - cells, "", percent);
}

/* True if all large parts of the split are shown. */
static bool row_write_text(const struct terminal *t, const struct row *row,
			   const struct report_layout *layout)
{
	const uint64_t ranks[REPORT_RANKS] = {row->p50_ns, row->p95_ns, row->p99_ns, row->max_ns};
	bool no_durations = row->absent & ROW_NO_DURATIONS;
	bool no_ranks = row->absent & (ROW_NO_DURATIONS | ROW_NO_PERCENTILES);
	bool whole = true;
	char text[512];

	row_label(row, text, sizeof(text));
	terminal_name(t, text, layout->label);
	if (no_ranks && !row->count)
		fprintf(t->file, " %*s", layout->count - 1, "-");
	else
		fprintf(t->file, " %*" PRIu64, layout->count - 1, row->count);
	duration_write(t, row->total_ns, no_durations, layout->number);
	for (int i = 0; i < REPORT_RANKS; i++)
		if (layout->ranks[i])
			duration_write(t, ranks[i], no_ranks, layout->number);
	if (layout->all_ns) {
		cause_write_text(t, row, layout->all_ns, layout->bar);
	} else {
		bool bar = !(row->absent & ROW_NO_SPLIT) && split_total(&row->time) > 0;

		if (bar) {
			fputs("  ", t->file);
			bar_write(t, &row->time, layout->bar);
			fputs("  ", t->file);
		}
		whole = row_numbers_write(t, row, layout->parts - REPORT_GAP);
	}
	putc('\n', t->file);
	return whole;
}

/* Lists the columns that a narrow terminal does not show. */
static void left_out_write(const struct terminal *t, const struct report_layout *layout, bool whole)
{
	char text[256] = "";
	size_t length = 0;

	for (int i = 0; i < REPORT_RANKS && layout->short_of_ranks; i++)
		if (!layout->ranks[i])
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
						   length ? " " : "", rank_names[i]);
	if (!whole)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%sparts of time",
					   length ? " and " : "");
	if (!length)
		return;
	snprintf(text + length, sizeof(text) - length,
		 " left out: the terminal is %d columns wide; --json has all", t->width);
	terminal_words(t, text, 0);
	putc('\n', t->file);
}

static size_t rows_shown(const struct report *report)
{
	size_t shown = 0;

	for (size_t i = 0; i < report->rows_count; i++)
		shown += !row_is_void(&report->rows[i]);
	return shown;
}

static void head_write(const struct terminal *t, const struct report *report,
		       const struct report_layout *layout)
{
	size_t shown = rows_shown(report);
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, "%zu row%s by %s ", shown, shown == 1 ? "" : "s", report->by);
	if (report->hosts)
		fprintf(t->file, "of %zu host%s", report->hosts, report->hosts == 1 ? "" : "s");
	else
		fprintf(t->file, "in %s",
			units_format_ns((int64_t)(report->to_ns - report->from_ns), text));
	fprintf(t->file, ", sorted by %s\n", report->sort);
	terminal_cell(t, report->by, layout->label);
	fprintf(t->file, " %*s %*s", layout->count - 1, "count", layout->number - 1, "total");
	for (int i = 0; i < REPORT_RANKS; i++)
		if (layout->ranks[i])
			fprintf(t->file, " %*s", layout->number - 1, rank_names[i]);
	fputs("  time\n", t->file);
}

void report_write_text(const struct terminal *t, const struct report *report)
{
	const struct report_layout layout = report_layout_of(report, t);
	bool used[SPLIT_PARTS_COUNT] = {false}, whole = true;

	head_write(t, report, &layout);
	for (size_t i = 0; i < report->rows_count; i++) {
		const struct row *row = &report->rows[i];

		if (row_is_void(row))
			continue;
		whole &= row_write_text(t, row, &layout);
		if (!(row->absent & ROW_NO_SPLIT))
			bar_mark(&row->time, used);
	}
	bar_legend(t, used);
	source_write_text(t, &report->source);
	left_out_write(t, &layout, whole);
}
