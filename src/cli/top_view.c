/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "cli/answer_text.h"
#include "cli/bar.h"
#include "cli/cost_text.h"
#include "cli/report_row.h"

#define LABEL_LEAST 12
#define LABEL_MIN 26 /* columns, if parts have room */
#define LABEL_MAX 44
#define BAR_LEAST 8
#define BAR_MIN 12
#define BAR_MAX 40
#define PARTS_COLUMNS 36 /* three tables */
#define PARTS_TWO 24
#define PARTS_ONE 15
#define RANK_COLUMNS 10
#define NUMBERS_COLUMNS (7 + 9 + 2 * RANK_COLUMNS + 2) /* CPU, count, p99, max, a gap */
#define LINES_AROUND 2				       /* title, a line for losses */

struct layout {
	int label, bar, parts;
	bool max; /* its column is shown */
	uint64_t range_ns;
};

/* A narrow screen has no column for the maximum, then short bars, then short names. */
static struct layout layout_of(const struct live *top, int width)
{
	struct layout l = {.range_ns = top->to_ns - top->from_ns, .max = true};
	int room = width - NUMBERS_COLUMNS - 1;

	if (room < LABEL_MIN + BAR_MIN + PARTS_COLUMNS) {
		l.max = room >= LABEL_MIN + BAR_LEAST + PARTS_COLUMNS;
		room += l.max ? 0 : RANK_COLUMNS;
		l.bar = BAR_LEAST;
		l.label = room - l.bar - PARTS_TWO;
		l.label = l.label < LABEL_LEAST ? LABEL_LEAST : l.label;
		l.label = l.label > LABEL_MIN ? LABEL_MIN : l.label;
	} else {
		l.label = room / 4 < LABEL_MIN ? LABEL_MIN : room / 4;
		l.label = l.label > LABEL_MAX ? LABEL_MAX : l.label;
		l.bar = room - l.label - PARTS_COLUMNS;
		l.bar = l.bar > BAR_MAX ? BAR_MAX : l.bar;
	}
	l.parts = room - l.label - l.bar;
	if (l.parts < PARTS_ONE) {
		l.bar -= PARTS_ONE - l.parts;
		l.parts = PARTS_ONE;
	}
	return l;
}

/* Writes a time; 0: "-". */
static void time_write(const struct terminal *t, uint64_t ns)
{
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, " %9s", ns ? units_format_ns((int64_t)ns, text) : "-");
}

/* Of threads and processes how long they worked and waited for work, else percentiles. */
static void times_write(const struct terminal *t, const struct row *row, bool all)
{
	bool lives = row->absent & ROW_OF_LIVES;
	bool absent = !lives && row->absent & (ROW_NO_DURATIONS | ROW_NO_PERCENTILES);

	time_write(t, absent ? 0 : lives ? row_work_ns(row) : row->p99_ns);
	if (all)
		time_write(t, absent  ? 0
			      : lives ? (uint64_t)row->time.ns[SPLIT_idle]
				      : row->max_ns);
}

static void row_write_text(const struct terminal *t, const struct row *row, const struct layout *l)
{
	struct split work = split_work(&row->time);
	int64_t cpu = split_on_cpu(&row->time);
	char label[ROW_LABEL_BYTES];

	row_label(row, l->label, false, label, sizeof(label));
	terminal_name(t, label, l->label);
	fprintf(t->file, " %5.1f%%", l->range_ns ? 100.0 * (double)cpu / (double)l->range_ns : 0.0);
	fprintf(t->file, " %8" PRIu64, row->count);
	times_write(t, row, l->max);
	fputs("  ", t->file);
	bar_write(t, &work, l->bar);
	putc(' ', t->file);
	row_numbers_write(t, row, l->parts);
	putc('\n', t->file);
}

static void part_write_text(const struct terminal *t, const struct live_part *part, size_t most,
			    const struct layout *l)
{
	bool lives = part->rows_count && part->rows[0].absent & ROW_OF_LIVES;
	char head[64];

	snprintf(head, sizeof(head), "%s, by %s", part->by, part->sort);
	terminal_cell(t, head, l->label);
	fprintf(t->file, " %6s %8s %9s", "cpu", lives ? "threads" : "count",
		lives ? "work" : "p99");
	if (l->max)
		fprintf(t->file, " %9s", lives ? "idle" : "max");
	fputs("  waits for\n", t->file);
	for (size_t i = 0; i < most; i++)
		row_write_text(t, &part->rows[i], l);
}

/* Writes the local time of the end of the range. */
static void title_write(const struct terminal *t, const struct live *top, const struct layout *l)
{
	char text[UNITS_TEXT_BYTES], clock[32] = "", cost[COST_TEXT_BYTES];
	int columns;

	if (top->source.clocks_count) {
		const struct clock_view *c = &top->source.clocks[0];
		time_t s = (time_t)((c->unix_ns + (top->to_ns - c->monotonic_ns)) / 1000000000u);
		struct tm tm;

		if (localtime_r(&s, &tm))
			strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	}
	columns = fprintf(t->file, "%s  %s", clock,
			  units_format_ns((int64_t)(top->to_ns - top->from_ns), text));
	columns += fprintf(t->file, "  lost %" PRIu64, lost_total(&top->source.lost));
	if (!l->max)
		columns += fprintf(t->file, "  no max or idle in %d columns", t->width);
	if (top->source.cpu_ns && (top->source.cost.measured || top->source.cost.processes_ns)) {
		cost_text(&top->source.cost, top->source.cpu_ns, cost);
		if (!t->cut || columns + 9 + (int)strlen(cost) <= t->width)
			fprintf(t->file, "  fathom %s", cost);
	}
	putc('\n', t->file);
}

/* The rows of a part, if all parts share `room` rows: small ones leave theirs to the last. */
static size_t share_of(const struct live *top, size_t i, size_t room)
{
	size_t fair = room / (top->parts_count - i);

	if (i + 1 == top->parts_count || top->parts[i].rows_count < fair)
		return top->parts[i].rows_count < room ? top->parts[i].rows_count : room;
	return fair;
}

/* Writes what is missing, cut to one line each: a longer line would scroll the screen. */
static void source_fit(const struct terminal *t, const struct source_view *source)
{
	char *text = NULL, *save = NULL;
	size_t size = 0;
	struct terminal memory = {.file = open_memstream(&text, &size)};

	if (!memory.file)
		return;
	source_write_text(&memory, source);
	fclose(memory.file);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		terminal_rest(t, line, t->width);
		putc('\n', t->file);
	}
	free(text);
}

/* Notes the parts that the bar of a row has. */
static void row_mark(const struct row *row, bool used[SPLIT_PARTS_COUNT])
{
	struct split work = split_work(&row->time);

	bar_mark(&work, used);
}

void top_write_text(const struct terminal *t, const struct live *top, int lines)
{
	struct layout l = layout_of(top, t->width);
	bool all[SPLIT_PARTS_COUNT] = {false}, used[SPLIT_PARTS_COUNT] = {false};
	size_t around, room = SIZE_MAX;

	for (size_t i = 0; i < top->parts_count; i++)
		for (size_t n = 0; n < top->parts[i].rows_count; n++)
			row_mark(&top->parts[i].rows[n], all);
	around = LINES_AROUND + top->parts_count + (size_t)bar_legend_lines(t, all);
	if (lines)
		room = (size_t)lines > around ? (size_t)lines - around : 1;
	title_write(t, top, &l);
	for (size_t i = 0; i < top->parts_count; i++) {
		size_t most = share_of(top, i, room);

		part_write_text(t, &top->parts[i], most, &l);
		for (size_t n = 0; n < most; n++)
			row_mark(&top->parts[i].rows[n], used);
		room -= most;
	}
	bar_legend(t, used);
	source_fit(t, &top->source);
}
