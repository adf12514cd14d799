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

enum { P50, P95, P99, MAX };

/* The widths that the rows need. */
struct wishes {
	int label, count, number;
	/* number of large parts to show; 0: all of them */
	int parts[PARTS_WANTED + 1];
};

static void wish(int *columns, int wanted)
{
	if (*columns < wanted)
		*columns = wanted;
}

static void wish_number(struct wishes *w, uint64_t ns)
{
	char text[UNITS_TEXT_BYTES];

	wish(&w->number, 1 + (int)strlen(units_format_ns((int64_t)ns, text)));
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

static struct wishes wishes_of(const struct report *report)
{
	struct wishes w = {.label = 8, .count = HEAD_COLUMNS, .number = HEAD_COLUMNS};

	for (size_t i = 0; i < report->rows_count; i++) {
		const struct row *row = &report->rows[i];
		char text[512];

		if (row_is_void(row))
			continue;
		row_label(row, text, sizeof(text));
		wish(&w.label, terminal_columns(text));
		wish(&w.count, snprintf(text, sizeof(text), " %" PRIu64, row->count));
		if (!(row->absent & ROW_NO_DURATIONS))
			wish_number(&w, row->total_ns);
		if (!(row->absent & (ROW_NO_DURATIONS | ROW_NO_PERCENTILES))) {
			wish_number(&w, row->p50_ns);
			wish_number(&w, row->p95_ns);
			wish_number(&w, row->p99_ns);
			wish_number(&w, row->max_ns);
		}
		wish_parts(&w, row);
	}
	return w;
}

static bool has_ranks(const struct report *report)
{
	for (size_t i = 0; i < report->rows_count; i++)
		if (!(report->rows[i].absent & (ROW_NO_DURATIONS | ROW_NO_PERCENTILES)))
			return true;
	return report->rows_count == 0;
}

static int ranks_shown(const struct report_layout *l)
{
	int shown = 0;

	for (int i = 0; i < REPORT_RANKS; i++)
		shown += l->ranks[i];
	return shown;
}

static int layout_columns(const struct report_layout *l)
{
	return l->label + l->count + (1 + ranks_shown(l)) * l->number + REPORT_GAP + l->bar +
	       l->parts;
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
	for (int all = 1 + ranks_shown(l); l->number < most && *left >= all; *left -= all)
		l->number++;
}

/* Removes the least important columns until the lines fit. */
static void layout_leave_out(struct report_layout *l, const struct wishes *w, int width)
{
	static const int least_needed[] = {MAX, P50, P95};
	bool had_p99 = l->ranks[P99];

	for (int parts = PARTS_WANTED; parts > 0; parts--) {
		if (!l->all_ns)
			l->parts = w->parts[parts];
		if (layout_columns(l) <= width)
			return;
		l->short_of_ranks |= had_p99;
		l->ranks[P99] = false;
		if (layout_columns(l) <= width)
			return;
	}
	while (l->label > LABEL_TIGHT && layout_columns(l) > width)
		l->label--;
	if (layout_columns(l) > width && l->parts > REPORT_GAP + PARTS_TIGHT)
		l->parts = REPORT_GAP + PARTS_TIGHT;
	for (int i = 0; i < REPORT_RANKS - 1 && layout_columns(l) > width; i++) {
		l->short_of_ranks |= l->ranks[least_needed[i]];
		l->ranks[least_needed[i]] = false;
	}
}

static void layout_fit(struct report_layout *l, const struct wishes *w, int width)
{
	int left;

	l->label = w->label < LABEL_LEAST ? w->label : LABEL_LEAST;
	l->count = w->count;
	l->number = w->number;
	l->bar = BAR_LEAST;
	layout_leave_out(l, w, width);
	left = width - layout_columns(l);
	if (left < 0)
		l->parts += left;
	if (!l->all_ns)
		layout_widen(&l->parts, w->parts[1], &left);
	layout_widen(&l->label, w->label < LABEL_SHORT ? w->label : LABEL_SHORT, &left);
	if (!l->all_ns)
		layout_widen(&l->parts, w->parts[0], &left);
	layout_widen(&l->label, w->label < LABEL_USUAL ? w->label : LABEL_USUAL, &left);
	layout_widen_numbers(l, NUMBER_USUAL, &left);
	layout_widen(&l->label, w->label < LABEL_MOST ? w->label : LABEL_MOST, &left);
	layout_widen(&l->count, COUNT_FILE, &left);
	layout_widen_numbers(l, NUMBER_FILE, &left);
	layout_widen(&l->bar, BAR_FILE, &left);
	layout_widen(&l->label, w->label, &left);
	layout_widen(&l->bar, BAR_MOST, &left);
}

struct report_layout report_layout_of(const struct report *report, const struct terminal *t)
{
	struct report_layout l = {.ranks = {true, true, true, true}, .parts = CAUSE_COLUMNS};
	const struct wishes w = wishes_of(report);
	int left;

	for (size_t i = 0; i < report->rows_count && strcmp(report->by, "cause") == 0; i++)
		l.all_ns += report->rows[i].total_ns;
	if (t->cut) {
		for (int i = 0; i < REPORT_RANKS; i++)
			l.ranks[i] = has_ranks(report);
		layout_fit(&l, &w, t->width);
		return l;
	}
	l.label = w.label < LABEL_FILE ? w.label : LABEL_FILE;
	l.count = COUNT_FILE;
	l.number = NUMBER_FILE;
	l.bar = BAR_FILE;
	l.parts = l.all_ns ? CAUSE_COLUMNS : PARTS_FILE;
	left = t->width - layout_columns(&l);
	layout_widen(&l.bar, BAR_MOST, &left);
	return l;
}
