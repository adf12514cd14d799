/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/report_row.h"

#define NUMBER_FILE 10
#define NUMBER_USUAL 9
#define COUNT_FILE 9
#define HEAD_COLUMNS 6	/* " total", " count": minimal columns of a number */
#define CAUSE_COLUMNS 6 /* by cause one percentage follows the bar */
#define PARTS_FILE 32

#define LABEL_TIGHT 8 /* rather than to lose p50, p95 and max */
#define LABEL_TIGHT_FILE 16
#define LABEL_TIGHT_PAIR 36
#define LABEL_LEAST 12
#define LABEL_SHORT 20
#define LABEL_USUAL 24
#define LABEL_MOST 44
#define LABEL_FILE 60 /* longer names are not cut, but exceed the column */
#define BAR_LEAST 8
#define BAR_FILE 14
#define BAR_MOST 40

#define PARTS_TIGHT 16 /* one part and, if it is short, the errors */
#define PARTS_WANTED 3 /* if there is room for all ranks */

/* The widths that the rows need. */
struct wishes {
	int label, second, count, number;
	/* number of large parts to show; 0: all of them */
	int parts[PARTS_WANTED + 1]; /* where lines are cut */
};

static void wish(int *columns, int wanted)
{
	if (*columns < wanted)
		*columns = wanted;
}

static void wish_parts(struct wishes *w, const struct row *row)
{
	for (int most = 0; most <= PARTS_WANTED; most++) {
		char *text = row_numbers(row, most);
		int columns = REPORT_GAP + (text ? terminal_columns(text) : 0);

		wish(&w->parts[most], columns);
		free(text);
	}
}

const char *report_count_name(const struct report *report)
{
	return report->rows_count && report->rows[0].absent & ROW_OF_LIVES ? "threads" : "count";
}

const char *report_column_name(enum report_column column)
{
	static const char *const names[REPORT_COLUMNS] = {
		[COLUMN_TOTAL] = "total", [COLUMN_OWN] = "own",		[COLUMN_WORK] = "work",
		[COLUMN_IDLE] = "idle",	  [COLUMN_CPU] = "cpu",		[COLUMN_P50] = "p50",
		[COLUMN_P95] = "p95",	  [COLUMN_P99] = "p99",		[COLUMN_MAX] = "max",
		[COLUMN_READ] = "read",	  [COLUMN_WRITTEN] = "written", [COLUMN_ERRORS] = "errors",
	};

	return names[column];
}

/* The duration in a column; false: the column has none. */
static bool column_ns(const struct row *row, enum report_column column, uint64_t *ns)
{
	const uint64_t values[REPORT_COLUMNS] = {[COLUMN_TOTAL] = row->total_ns,
						 [COLUMN_OWN] = row->own_ns,
						 [COLUMN_WORK] = row_work_ns(row),
						 [COLUMN_IDLE] = (uint64_t)row->time.ns[SPLIT_idle],
						 [COLUMN_CPU] = (uint64_t)split_on_cpu(&row->time),
						 [COLUMN_P50] = row->p50_ns,
						 [COLUMN_P95] = row->p95_ns,
						 [COLUMN_P99] = row->p99_ns,
						 [COLUMN_MAX] = row->max_ns};
	bool rank = column >= COLUMN_P50 && column <= COLUMN_MAX;

	*ns = values[column];
	if (column == COLUMN_IDLE && !*ns)
		return false;
	return column <= COLUMN_MAX && !(row->absent & ROW_NO_DURATIONS) &&
	       !(rank && row->absent & ROW_NO_PERCENTILES);
}

char *report_column_text(const struct row *row, enum report_column column, char text[32])
{
	uint64_t ns;

	if (column_ns(row, column, &ns))
		return units_format_ns((int64_t)ns, text);
	if (column == COLUMN_READ && row->read_bytes)
		return units_format_bytes(row->read_bytes, text);
	if (column == COLUMN_WRITTEN && row->written_bytes)
		return units_format_bytes(row->written_bytes, text);
	if (column == COLUMN_ERRORS && !(row->absent & ROW_NO_ERRORS))
		snprintf(text, 32, "%" PRIu64, row->errors);
	else
		strcpy(text, "-");
	return text;
}

/* The columns that suit the rows. */
static void columns_choose(struct report_layout *l, const struct report *report)
{
	bool lives = false, ranks = !report->rows_count, idle = false, own = false;

	for (size_t i = 0; i < report->rows_count; i++) {
		const struct row *row = &report->rows[i];

		idle |= row->time.ns[SPLIT_idle] != 0;
		own |= row->own_ns != 0;
		lives |= row->absent & ROW_OF_LIVES;
		ranks |= !(row->absent & (ROW_NO_DURATIONS | ROW_NO_PERCENTILES));
		l->shown[COLUMN_READ] |= row->read_bytes || row->written_bytes;
	}
	l->shown[COLUMN_TOTAL] = !idle && strcmp(report->sort, "work") != 0;
	l->shown[COLUMN_OWN] = own;
	l->shown[COLUMN_WORK] = l->shown[COLUMN_IDLE] = idle;
	l->shown[COLUMN_WRITTEN] = l->shown[COLUMN_READ];
	l->shown[COLUMN_CPU] = lives;
	for (int c = COLUMN_P50; c <= COLUMN_MAX; c++)
		l->shown[c] = ranks && !lives;
	for (int c = 0; c < REPORT_COLUMNS; c++)
		l->shown[c] |= strcmp(report->sort, report_column_name(c)) == 0;
}

static void wish_row(struct wishes *w, const struct report_layout *l, const struct row *row,
		     int columns)
{
	char text[ROW_LABEL_BYTES];

	row_label(row, columns, false, text, sizeof(text));
	wish(&w->label, terminal_columns(text));
	if (row->values[0]) {
		row_label(row, columns, true, text, sizeof(text));
		wish(&w->second, terminal_columns(text));
	}
	wish(&w->count, snprintf(text, sizeof(text), " %" PRIu64, row->count));
	for (int c = 0; c < REPORT_COLUMNS; c++)
		if (l->shown[c])
			wish(&w->number, 1 + (int)strlen(report_column_text(row, c, text)));
}

static struct wishes wishes_of(const struct report *report, const struct report_layout *l,
			       const struct terminal *t)
{
	const int columns = t->cut ? LABEL_MOST : LABEL_FILE;
	struct wishes w = {.label = 8, .number = HEAD_COLUMNS};

	wish(&w.label, (int)strlen(report->by));
	wish(&w.count,
	     1 + (int)strlen(report_count_name(report)) + (strcmp(report->sort, "count") == 0));

	for (size_t i = 0; i < report->rows_count; i++) {
		if (row_is_void(&report->rows[i]))
			continue;
		wish_row(&w, l, &report->rows[i], columns);
		if (t->cut)
			wish_parts(&w, &report->rows[i]);
	}
	for (int c = 0; c < REPORT_COLUMNS; c++)
		if (l->shown[c])
			wish(&w.number, 1 + (int)strlen(report_column_name(c)) +
						(strcmp(report_column_name(c), report->sort) == 0));
	return w;
}

static int numbers_shown(const struct report_layout *l)
{
	int shown = 0;

	for (int i = 0; i < REPORT_COLUMNS; i++)
		shown += l->shown[i];
	return shown;
}

static int layout_columns(const struct report_layout *l)
{
	return l->label + l->count + numbers_shown(l) * l->number + REPORT_GAP + l->bar + l->parts;
}

/* Takes columns from the rest, up to a limit. */
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

static void layout_widen_numbers(struct report_layout *l, int most, int *left)
{
	for (int all = numbers_shown(l); l->number < most && *left >= all; *left -= all)
		l->number++;
}

static void column_leave_out(struct report_layout *l, enum report_column column, const char *sort)
{
	if (!l->shown[column] || strcmp(sort, report_column_name(column)) == 0)
		return;
	l->shown[column] = false;
	l->left_out[column] = true;
}

/* To how many columns names may shrink: names of files and of two keys need more. */
static int label_tight(const struct report_layout *l, const struct wishes *w)
{
	int label = w->label + (w->second ? REPORT_GAP + w->second : 0);
	int tight = w->second		    ? LABEL_TIGHT_PAIR
		    : l->shown[COLUMN_READ] ? LABEL_TIGHT_FILE
					    : LABEL_TIGHT;

	return label < tight ? label : tight;
}

/* Removes the least important columns until the lines fit. */
static void layout_leave_out(struct report_layout *l, const struct wishes *w, int width,
			     const char *sort)
{
	static const enum report_column least_needed[] = {COLUMN_MAX, COLUMN_P50, COLUMN_P95,
							  COLUMN_WRITTEN, COLUMN_READ};

	for (int parts = PARTS_WANTED; parts > 0; parts--) {
		if (!l->all_ns)
			l->parts = w->parts[parts];
		if (layout_columns(l) <= width)
			return;
		column_leave_out(l, COLUMN_P99, sort);
		if (layout_columns(l) <= width)
			return;
	}
	while (l->label > label_tight(l, w) && layout_columns(l) > width)
		l->label--;
	if (layout_columns(l) > width && l->parts > REPORT_GAP + PARTS_TIGHT)
		l->parts = REPORT_GAP + PARTS_TIGHT;
	for (size_t i = 0; i < sizeof(least_needed) / sizeof(least_needed[0]); i++)
		if (layout_columns(l) > width)
			column_leave_out(l, least_needed[i], sort);
	while (l->label > LABEL_LEAST && layout_columns(l) > width)
		l->label--;
}

static void layout_fit(struct report_layout *l, const struct wishes *w, int width, const char *sort)
{
	int left, label = w->label + (w->second ? REPORT_GAP + w->second : 0);

	l->label = label < LABEL_LEAST ? label : LABEL_LEAST;
	if (l->label < label_tight(l, w))
		l->label = label_tight(l, w);
	l->count = w->count;
	l->number = w->number;
	l->bar = BAR_LEAST;
	layout_leave_out(l, w, width, sort);
	left = width - layout_columns(l);
	if (left < 0)
		l->parts += left;
	if (!l->all_ns)
		layout_widen(&l->parts, w->parts[1], &left);
	layout_widen(&l->label, label < LABEL_SHORT ? label : LABEL_SHORT, &left);
	if (!l->all_ns)
		layout_widen(&l->parts, w->parts[0], &left);
	layout_widen(&l->label, label < LABEL_USUAL ? label : LABEL_USUAL, &left);
	layout_widen_numbers(l, NUMBER_USUAL, &left);
	layout_widen(&l->label, label < LABEL_MOST ? label : LABEL_MOST, &left);
	layout_widen(&l->count, COUNT_FILE, &left);
	layout_widen_numbers(l, NUMBER_FILE, &left);
	layout_widen(&l->bar, BAR_FILE, &left);
	layout_widen(&l->label, label, &left);
	layout_widen(&l->bar, BAR_MOST, &left);
}

/* Divides the first column between two keys: half each, or what one of them does not need. */
static void layout_divide(struct report_layout *l, const struct wishes *w)
{
	int room = l->label - REPORT_GAP, first = room / 2;

	if (!w->second)
		return;
	if (w->label < first)
		first = w->label;
	else if (w->second < room - first)
		first = room - w->second;
	l->second = room - first;
}

struct report_layout report_layout_of(const struct report *report, const struct terminal *t)
{
	struct report_layout l = {.parts = CAUSE_COLUMNS};
	struct wishes w;
	int left, label;

	columns_choose(&l, report);
	w = wishes_of(report, &l, t);
	for (size_t i = 0; i < report->rows_count && strcmp(report->by, "cause") == 0; i++)
		l.all_ns += row_work_ns(&report->rows[i]);
	if (t->cut) {
		layout_fit(&l, &w, t->width, report->sort);
		layout_divide(&l, &w);
		return l;
	}
	label = w.label < LABEL_FILE ? w.label : LABEL_FILE;
	l.label = label;
	if (w.second)
		l.label += REPORT_GAP + (w.second < LABEL_FILE ? w.second : LABEL_FILE);
	l.second = w.second ? l.label - label - REPORT_GAP : 0;
	l.count = COUNT_FILE;
	l.number = NUMBER_FILE;
	l.bar = BAR_FILE;
	l.parts = l.all_ns ? CAUSE_COLUMNS : PARTS_FILE;
	left = t->width - layout_columns(&l);
	layout_widen(&l.bar, BAR_MOST, &left);
	return l;
}
