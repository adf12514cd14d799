/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wall_time.h"
#include "cli/answer_text.h"
#include "cli/bar.h"
#include "cli/cost_text.h"
#include "cli/report_layout.h"
#include "cli/report_row.h"
#include "map/unknown.h"

/* By cause a row has only one part: its bar is its share of all rows. */
static void cause_write_text(const struct terminal *t, const struct row *row,
			     unsigned __int128 all_ns, int bar)
{
	uint64_t ns = row_work_ns(row);
	int cells = (int)(ns * (unsigned __int128)bar / all_ns);
	int percent = (int)(ns * (unsigned __int128)100 / all_ns);

	if (!ns && row->total_ns) /* idle: no share of what was done */
		return;
	fputs("  ", t->file);
	bar_write(t, &row->time, cells);
	fprintf(t->file, "%*s  %d%%", bar - cells, "", percent);
}

static void label_write(const struct terminal *t, const struct row *row,
			const struct report_layout *layout)
{
	int first = layout->second ? layout->label - layout->second - REPORT_GAP : layout->label;
	char text[ROW_LABEL_BYTES];

	row_label(row, first, false, text, sizeof(text));
	terminal_name(t, text, first);
	if (!layout->second)
		return;
	terminal_spaces(t, REPORT_GAP);
	row_label(row, layout->second, true, text, sizeof(text));
	terminal_name(t, text, layout->second);
}

/* True if all large parts of the split are shown. */
static bool row_write_text(const struct terminal *t, const struct row *row,
			   const struct report_layout *layout)
{
	bool no_ranks = row->absent & (ROW_NO_DURATIONS | ROW_NO_PERCENTILES);
	struct split work = split_work(&row->time);
	bool whole = true;
	char text[32];

	label_write(t, row, layout);
	if (no_ranks && !row->count)
		fprintf(t->file, " %*s", layout->count - 1, "-");
	else
		fprintf(t->file, " %*" PRIu64, layout->count - 1, row->count);
	for (int c = 0; c < REPORT_COLUMNS; c++)
		if (layout->shown[c])
			fprintf(t->file, " %*s", layout->number - 1,
				report_column_text(row, c, text));
	if (layout->all_ns) {
		cause_write_text(t, row, layout->all_ns, layout->bar);
	} else {
		bool bar = !(row->absent & ROW_NO_SPLIT) && split_total(&row->time) > 0;

		if (bar) {
			fputs("  ", t->file);
			bar_write(t, &work, layout->bar);
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

	for (int c = 0; c < REPORT_COLUMNS; c++)
		if (layout->left_out[c])
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
						   length ? " " : "", report_column_name(c));
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

/* The head of a column; the one that sorts the rows is marked. */
static void column_head(const struct terminal *t, const char *name, int columns, const char *sort)
{
	bool sorts = strcmp(name, sort) == 0;

	terminal_spaces(t, columns - (int)strlen(name) - sorts);
	fprintf(t->file, "%s%s", name, sorts ? "↓" : "");
}

/* The range of the answer as times of day, if the clock is known. */
static void range_write(const struct terminal *t, const struct report *report)
{
	const struct source_view *source = &report->source;
	uint64_t from = clocks_unix_ns(source->clocks, source->clocks_count, report->from_ns);
	uint64_t to = clocks_unix_ns(source->clocks, source->clocks_count, report->to_ns);
	struct wall_text begin, end;

	if (report->hosts || !from || !to)
		return;
	begin = wall_time_write(from);
	end = wall_time_write(to);
	fprintf(t->file, "from %s %.12s to %s%s%.12s %s\n", begin.date, begin.time,
		strcmp(begin.date, end.date) == 0 ? "" : end.date,
		strcmp(begin.date, end.date) == 0 ? "" : " ", end.time, end.zone);
}

static void head_write(const struct terminal *t, const struct report *report)
{
	size_t shown = rows_shown(report);
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, "%zu row%s by %s ", shown, shown == 1 ? "" : "s", report->by);
	if (report->rows_total > report->rows_count)
		fprintf(t->file, "of %zu ", report->rows_total);
	if (report->hosts)
		fprintf(t->file, "of %zu host%s", report->hosts, report->hosts == 1 ? "" : "s");
	else
		fprintf(t->file, "in %s",
			units_format_ns((int64_t)(report->to_ns - report->from_ns), text));
	fprintf(t->file, ", sorted by %s\n", report->sort);
	range_write(t, report);
}

static void columns_write(const struct terminal *t, const struct report *report,
			  const struct report_layout *layout)
{
	char by[128];

	snprintf(by, sizeof(by), "%s%s", report->by, strcmp(report->sort, "key") == 0 ? "↓" : "");
	terminal_cell(t, by, layout->label);
	column_head(t, report_count_name(report), layout->count,
		    strcmp(report->sort, "count") == 0 ? report_count_name(report) : report->sort);
	for (int c = 0; c < REPORT_COLUMNS; c++)
		if (layout->shown[c])
			column_head(t, report_column_name(c), layout->number, report->sort);
	fputs("  time\n", t->file);
}

/* Begins the rows of one kind among those by overhead. */
static void section_write(const struct terminal *t, unsigned int section)
{
	static const char *const heads[] = {
		[ROW_OF_PROGRAM] = "kernel programs: runs, and their time",
		[ROW_OF_RECORDER] = "processes of the recorder: CPU time",
		[ROW_OF_PROCESS] = "whom the programs hit: records of a process, and their time",
		[ROW_OF_SPAN] = "under which spans, of that",
	};

	fprintf(t->file, "%s\n", heads[section]);
}

/* What recording cost, where that was asked for. */
static void cost_write(const struct terminal *t, const struct report *report)
{
	const struct source_view *source = &report->source;
	char text[COST_TEXT_BYTES];

	if (strcmp(report->by, "overhead") != 0)
		return;
	if (!source->cost.measured && !source->cost.processes_ns)
		terminal_sentence(t, "cost: ", "the recording does not tell what it cost");
	else if (source->cpu_ns)
		terminal_sentence(t, "cost: ", "fathom took %s",
				  cost_text(&source->cost, source->cpu_ns, text));
}

/* The state of the tables of a report. */
struct tables {
	bool used[SPLIT_PARTS_COUNT]; /* parts that the legend explains */
	bool whole;		      /* all large parts are shown */
};

static void rows_write(const struct terminal *t, const struct report *report,
		       const struct report_layout *layout, struct tables *tables)
{
	unsigned int section = ROW_OF_ALL;

	for (size_t i = 0; i < report->rows_count; i++) {
		const struct row *row = &report->rows[i];
		struct split work;

		if (row_is_void(row))
			continue;
		if (row->section && row->section != section)
			section_write(t, row->section);
		section = row->section;
		tables->whole &= row_write_text(t, row, layout);
		work = split_work(&row->time);
		if (!(row->absent & ROW_NO_SPLIT))
			bar_mark(&work, tables->used);
	}
}

/* The rest of the host, below the spans of applications. */
static void rest_write(const struct terminal *t, const struct report *report, struct tables *tables)
{
	struct report rest = *report;
	struct report_layout layout;

	rest.by = "process";
	rest.sort = "cpu";
	rest.rows = report->rest;
	rest.rows_count = report->rest_count;
	layout = report_layout_of(&rest, t);
	fprintf(t->file, "\n%zu of %zu processes of the host%s, sorted by cpu\n",
		report->rest_count, report->rest_total, report->hosts ? "s" : "");
	columns_write(t, &rest, &layout);
	rows_write(t, &rest, &layout, tables);
}

/* Says why time is unknown, if some is. */
static void unknown_write(const struct terminal *t, const struct report *report)
{
	static const char *const texts[UNKNOWN_REASONS_COUNT] = {
		"nothing was recorded in some of the time (gap)",
		"records were lost (loss)",
		"the recording leaves it out (filter)",
		"threads were not seen since the begin until their first record (begin)",
		"no record tells (untold)",
	};
	unsigned int reasons = 0;
	char text[512];
	size_t length = 0;

	for (size_t i = 0; i < report->rows_count; i++)
		reasons |= report->rows[i].unknown;
	for (size_t i = 0; i < report->rest_count; i++)
		reasons |= report->rest[i].unknown;
	for (unsigned int i = 0; i < UNKNOWN_REASONS_COUNT; i++)
		if (reasons & 1u << i)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
						   length ? "; " : "", texts[i]);
	if (reasons)
		terminal_sentence(t, "unknown: ", "some time is unknown: %s", text);
}

void report_write_text(const struct terminal *t, const struct report *report)
{
	const struct report_layout layout = report_layout_of(report, t);
	struct tables tables = {.whole = true};

	head_write(t, report);
	columns_write(t, report, &layout);
	rows_write(t, report, &layout, &tables);
	if (report->rest_count)
		rest_write(t, report, &tables);
	bar_legend(t, tables.used);
	cost_write(t, report);
	unknown_write(t, report);
	source_write_text(t, &report->source);
	left_out_write(t, &layout, tables.whole);
}
