/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/bar.h"

#define NUMBER_COLUMNS 10 /* a duration and the space before it */
#define COUNT_COLUMNS 9
#define BAR_GAP 2
#define PARTS_SHOWN 3	/* as numbers behind the bar */
#define CAUSE_COLUMNS 6 /* by cause: one percentage */
#define RANKS 4

/* Columns of what a table has of its lines: on a terminal, at least and at most; in a file. */
#define LABEL_LEAST 12
#define LABEL_USUAL 24 /* where p50 and max can be left out */
#define LABEL_SHORT 18 /* where p95 and p99 can be */
#define LABEL_MOST 44
#define LABEL_FILE 60 /* longer ones are not cut, but stand out */
#define BAR_LEAST 7
#define BAR_FILE 14
#define BAR_MOST 40
#define PARTS_LEAST 16
#define PARTS_ERRORS 24 /* at least, if there are */
#define PARTS_MOST 32

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

static int label_columns(const struct report_view *report)
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
	return columns;
}

static void duration_write(const struct terminal *t, uint64_t ns, bool absent)
{
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, " %*s", NUMBER_COLUMNS - 1,
		absent ? "-" : units_format_ns((int64_t)ns, text));
}

static char *numbers_text(const struct report_row *row, int most)
{
	char *text = NULL;
	size_t size = 0;
	struct terminal memory = {.file = open_memstream(&text, &size)};

	if (!memory.file)
		return NULL;
	if (!(row->absent & REPORT_NO_SPLIT))
		bar_percents(&memory, &row->time, most);
	if (!(row->absent & REPORT_NO_ERRORS) && row->errors)
		fprintf(memory.file, "  %" PRIu64 " error%s", row->errors,
			row->errors == 1 ? "" : "s");
	fclose(memory.file);
	return text;
}

void report_row_numbers(const struct terminal *t, const struct report_row *row, int room)
{
	char *text = numbers_text(row, PARTS_SHOWN);

	for (int most = PARTS_SHOWN - 1; most > 0 && text && t->cut; most--) {
		if (terminal_columns(text) <= room)
			break;
		free(text);
		text = numbers_text(row, most);
	}
	if (text)
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
	int label;	   /* columns of the first column */
	bool ranks[RANKS]; /* which of p50, p95, p99, max are shown */
	int bar;	   /* columns of the bar */
	int parts;	   /* of what stands behind it */
	uint64_t all_ns;   /* by cause: the sum of all rows; else 0 */
};

static void row_write_text(const struct terminal *t, const struct report_row *row,
			   const struct layout *layout)
{
	const uint64_t ranks[RANKS] = {row->p50_ns, row->p95_ns, row->p99_ns, row->max_ns};
	bool no_durations = row->absent & REPORT_NO_DURATIONS;
	bool no_ranks = row->absent & (REPORT_NO_DURATIONS | REPORT_NO_PERCENTILES);
	char text[512];

	report_row_label(row, text, sizeof(text));
	terminal_name(t, text, layout->label);
	fprintf(t->file, " %*" PRIu64, COUNT_COLUMNS - 1, row->count);
	duration_write(t, row->total_ns, no_durations);
	for (int i = 0; i < RANKS; i++)
		if (layout->ranks[i])
			duration_write(t, ranks[i], no_ranks);
	if (layout->all_ns) {
		cause_write_text(t, row, layout->all_ns, layout->bar);
	} else {
		bool bar = !(row->absent & REPORT_NO_SPLIT) && split_total(&row->time) > 0;

		if (bar) {
			fputs("  ", t->file);
			bar_write(t, &row->time, layout->bar);
			fputs("  ", t->file);
		}
		report_row_numbers(t, row, layout->parts - BAR_GAP);
	}
	putc('\n', t->file);
}

static int layout_columns(const struct layout *l)
{
	int columns = l->label + COUNT_COLUMNS + NUMBER_COLUMNS + BAR_GAP + l->bar + l->parts;

	for (int i = 0; i < RANKS; i++)
		columns += l->ranks[i] ? NUMBER_COLUMNS : 0;
	return columns;
}

/* Gives of what is left, up to a limit. */
static void layout_widen(int *columns, int most, int *left)
{
	int more = most - *columns;

	if (more > *left)
		more = *left;
	if (more <= 0)
		return;
	*columns += more;
	*left -= more;
}

static bool has_errors(const struct report_view *report)
{
	for (size_t i = 0; i < report->rows_count; i++)
		if (!(report->rows[i].absent & REPORT_NO_ERRORS) && report->rows[i].errors)
			return true;
	return false;
}

static bool has_ranks(const struct report_view *report)
{
	for (size_t i = 0; i < report->rows_count; i++)
		if (!(report->rows[i].absent & (REPORT_NO_DURATIONS | REPORT_NO_PERCENTILES)))
			return true;
	return report->rows_count == 0;
}

/* Leaves out ranks, those that are needed least first, until the lines fit. */
static void ranks_leave_out(struct layout *l, int first, int count, int width)
{
	static const int least_needed[RANKS] = {0, 3, 1, 2}; /* p50, max, p95, p99 */

	for (int i = first; i < first + count && layout_columns(l) > width; i++)
		l->ranks[least_needed[i]] = false;
}

/* On a terminal no line is longer: what is needed least goes, then names are cut. */
static void layout_fit(struct layout *l, const struct report_view *report, int width)
{
	int wanted = l->label < LABEL_MOST ? l->label : LABEL_MOST, left;

	l->bar = BAR_LEAST;
	l->parts = l->all_ns ? CAUSE_COLUMNS : has_errors(report) ? PARTS_ERRORS : PARTS_LEAST;
	if (!has_ranks(report))
		ranks_leave_out(l, 0, RANKS, 0);
	l->label = wanted < LABEL_USUAL ? wanted : LABEL_USUAL;
	ranks_leave_out(l, 0, 2, width);
	l->label = wanted < LABEL_SHORT ? wanted : LABEL_SHORT;
	ranks_leave_out(l, 2, 2, width);
	for (; layout_columns(l) > width && l->label > LABEL_LEAST; l->label--)
		;
	left = width - layout_columns(l);
	if (left < 0)
		l->parts += left;
	layout_widen(&l->label, wanted, &left);
	if (!l->all_ns)
		layout_widen(&l->parts, PARTS_MOST, &left);
	layout_widen(&l->bar, BAR_MOST, &left);
}

static struct layout layout_of(const struct report_view *report, const struct terminal *t)
{
	struct layout l = {.label = label_columns(report), .ranks = {true, true, true, true}};
	int left;

	for (size_t i = 0; i < report->rows_count && strcmp(report->by, "cause") == 0; i++)
		l.all_ns += report->rows[i].total_ns;
	if (t->cut) {
		layout_fit(&l, report, t->width);
		return l;
	}
	if (l.label > LABEL_FILE)
		l.label = LABEL_FILE;
	l.bar = BAR_FILE;
	l.parts = l.all_ns ? CAUSE_COLUMNS : PARTS_MOST;
	left = t->width - layout_columns(&l);
	layout_widen(&l.bar, BAR_MOST, &left);
	return l;
}

void report_write_text(const struct terminal *t, const struct report_view *report)
{
	static const char *const heads[RANKS] = {"p50", "p95", "p99", "max"};
	struct layout layout = layout_of(report, t);
	bool used[SPLIT_PARTS_COUNT] = {false};
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, "%zu row%s by %s in %s, sorted by %s\n", report->rows_count,
		report->rows_count == 1 ? "" : "s", report->by,
		units_format_ns((int64_t)(report->to_ns - report->from_ns), text), report->sort);
	terminal_cell(t, report->by, layout.label);
	fprintf(t->file, " %*s %*s", COUNT_COLUMNS - 1, "count", NUMBER_COLUMNS - 1, "total");
	for (int i = 0; i < RANKS; i++)
		if (layout.ranks[i])
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
