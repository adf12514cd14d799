/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/bar.h"

#define NUMBER_COLUMNS 10 /* a duration and the space before it */
#define COUNT_COLUMNS 9
#define FIXED_COLUMNS (COUNT_COLUMNS + 5 * NUMBER_COLUMNS + 2)
#define BAR_MIN 14
#define BAR_MAX 40
#define PARTS_SHOWN 3 /* as numbers behind the bar */
#define PARTS_COLUMNS 32

void report_row_write_json(struct json *j, const struct report_row *row)
{
	json_object_begin(j, NULL);
	json_string(j, "key", row->key);
	if (row->service)
		json_string(j, "service", row->service);
	if (row->process)
		json_string(j, "process", row->process);
	if (row->pid)
		json_u64(j, "pid", row->pid);
	if (row->thread)
		json_string(j, "thread", row->thread);
	if (row->tid)
		json_u64(j, "tid", row->tid);
	json_u64(j, "count", row->count);
	if (!(row->absent & REPORT_NO_ERRORS))
		json_u64(j, "errors", row->errors);
	if (!(row->absent & REPORT_NO_DURATIONS))
		json_u64(j, "total_ns", row->total_ns);
	if (!(row->absent & (REPORT_NO_DURATIONS | REPORT_NO_PERCENTILES))) {
		json_u64(j, "p50_ns", row->p50_ns);
		json_u64(j, "p95_ns", row->p95_ns);
		json_u64(j, "p99_ns", row->p99_ns);
		json_u64(j, "max_ns", row->max_ns);
	}
	if (!(row->absent & REPORT_NO_SPLIT))
		split_write_json(j, &row->time);
	json_object_end(j);
}

void report_write_json(FILE *file, const struct report_view *report)
{
	struct json j;

	json_init(&j, file);
	json_object_begin(&j, NULL);
	json_u64(&j, "from_ns", report->from_ns);
	json_u64(&j, "to_ns", report->to_ns);
	source_write_json(&j, &report->source);
	json_array_begin_lines(&j, "rows");
	for (size_t i = 0; i < report->rows_count; i++)
		report_row_write_json(&j, &report->rows[i]);
	json_array_end(&j);
	json_object_end(&j);
	json_end(&j);
}

void report_row_label(const struct report_row *row, char *text, size_t size)
{
	if (row->tid && row->process && row->thread && strcmp(row->process, row->thread) != 0)
		snprintf(text, size, "%s (%s, tid %u)", row->key, row->process, row->tid);
	else if (row->tid)
		snprintf(text, size, "%s (tid %u)", row->key, row->tid);
	else if (row->pid)
		snprintf(text, size, "%s (pid %u)", row->key, row->pid);
	else if (row->service && strcmp(row->service, row->key) != 0)
		snprintf(text, size, "%s (%s)", row->key, row->service);
	else
		snprintf(text, size, "%s", row->key);
}

static int label_columns(const struct report_view *report, int most)
{
	int columns = 8;

	for (size_t i = 0; i < report->rows_count; i++) {
		char label[512];
		int wanted;

		report_row_label(&report->rows[i], label, sizeof(label));
		wanted = terminal_columns(label);
		if (wanted > columns)
			columns = wanted;
	}
	return columns < most ? columns : most;
}

static void duration_write(const struct terminal *t, uint64_t ns, bool absent)
{
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, " %*s", NUMBER_COLUMNS - 1,
		absent ? "-" : units_format_ns((int64_t)ns, text));
}

/* The largest parts as numbers, then the errors, in what is left of the line. */
static void numbers_write(const struct terminal *t, const struct report_row *row, int room)
{
	char *text = NULL;
	size_t size = 0;
	struct terminal memory = {.file = open_memstream(&text, &size)};

	if (!memory.file)
		return;
	if (!(row->absent & REPORT_NO_SPLIT) && split_total(&row->time) > 0) {
		fputs("  ", memory.file);
		bar_percents(&memory, &row->time, PARTS_SHOWN);
	}
	if (!(row->absent & REPORT_NO_ERRORS) && row->errors)
		fprintf(memory.file, "  %" PRIu64 " error%s", row->errors,
			row->errors == 1 ? "" : "s");
	fclose(memory.file);
	terminal_rest(t, text, room);
	free(text);
}

/* By cause a row has one part only: its bar is its share of all rows. */
static void cause_write_text(const struct terminal *t, const struct report_row *row,
			     uint64_t all_ns, int bar)
{
	int cells = (int)((unsigned __int128)row->total_ns * (unsigned int)bar / all_ns);
	int percent = (int)((unsigned __int128)row->total_ns * 100 / all_ns);

	fputs("  ", t->file);
	bar_write(t, &row->time, cells);
	fprintf(t->file, "%*s  %d%%", bar - cells, "", percent);
}

/* How a table is laid out. */
struct layout {
	int label;	 /* columns of the first column */
	int bar;	 /* columns of the bar */
	uint64_t all_ns; /* by cause: the sum of all rows; else 0 */
};

static void row_write_text(const struct terminal *t, const struct report_row *row,
			   const struct layout *layout)
{
	bool no_durations = row->absent & REPORT_NO_DURATIONS;
	bool no_ranks = row->absent & (REPORT_NO_DURATIONS | REPORT_NO_PERCENTILES);
	char text[512];

	report_row_label(row, text, sizeof(text));
	terminal_cell(t, text, layout->label);
	fprintf(t->file, " %*" PRIu64, COUNT_COLUMNS - 1, row->count);
	duration_write(t, row->total_ns, no_durations);
	duration_write(t, row->p50_ns, no_ranks);
	duration_write(t, row->p95_ns, no_ranks);
	duration_write(t, row->p99_ns, no_ranks);
	duration_write(t, row->max_ns, no_ranks);
	if (layout->all_ns) {
		cause_write_text(t, row, layout->all_ns, layout->bar);
	} else {
		if (!(row->absent & REPORT_NO_SPLIT) && split_total(&row->time) > 0) {
			fputs("  ", t->file);
			bar_write(t, &row->time, layout->bar);
		}
		numbers_write(t, row, t->width - layout->label - FIXED_COLUMNS - layout->bar);
	}
	putc('\n', t->file);
}

static struct layout layout_of(const struct report_view *report, int width)
{
	int room = width - FIXED_COLUMNS - PARTS_COLUMNS;
	struct layout layout = {0};

	layout.label = label_columns(report, room - BAR_MIN > 24 ? room - BAR_MIN : 24);
	/* by cause, one percentage stands behind the bar, else the largest parts do */
	layout.bar = room - layout.label;
	if (strcmp(report->by, "cause") == 0) {
		layout.bar += PARTS_COLUMNS - 6;
		for (size_t i = 0; i < report->rows_count; i++)
			layout.all_ns += report->rows[i].total_ns;
	}
	if (layout.bar < BAR_MIN)
		layout.bar = BAR_MIN;
	if (layout.bar > BAR_MAX)
		layout.bar = BAR_MAX;
	return layout;
}

void report_write_text(const struct terminal *t, const struct report_view *report)
{
	static const char *const heads[] = {"total", "p50", "p95", "p99", "max"};
	struct layout layout = layout_of(report, t->width);
	bool used[SPLIT_PARTS_COUNT] = {false};
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, "%zu row%s by %s in %s, sorted by %s\n", report->rows_count,
		report->rows_count == 1 ? "" : "s", report->by,
		units_format_ns((int64_t)(report->to_ns - report->from_ns), text), report->sort);
	terminal_cell(t, report->by, layout.label);
	fprintf(t->file, " %*s", COUNT_COLUMNS - 1, "count");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		fprintf(t->file, " %*s", NUMBER_COLUMNS - 1, heads[i]);
	fputs("  time\n", t->file);
	for (size_t i = 0; i < report->rows_count; i++) {
		row_write_text(t, &report->rows[i], &layout);
		if (!(report->rows[i].absent & REPORT_NO_SPLIT))
			bar_mark(&report->rows[i].time, used);
	}
	bar_legend(t, used);
	source_write_text(t, &report->source);
}
