/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/critical_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define PIECES_SHOWN 16
#define SHARE_SHOWN 200 /* a part of the time that is worth a line in a path of many pieces */

/* Rows that follow each other and say the same. */
struct piece {
	const struct critical_row *row;
	u64 begin_ns, end_ns;
	u64 unsure_ns; /* so much longest and shortest length differ, by the clocks of two hosts */
};

struct pieces {
	struct piece *data;
	size_t count;
	u64 shown_from_ns; /* shorter ones are put together */
};

static bool says_the_same(const struct critical_row *a, const struct critical_row *b)
{
	return strcmp(a->subject, b->subject) == 0 && strcmp(a->verb, b->verb) == 0 &&
	       strcmp(a->rest, b->rest) == 0;
}

static int longer_first(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x > y ? -1 : x < y;
}

/* The length from which on a piece has a line of its own: a few lines tell more than hundreds. */
static void pieces_choose(struct pieces *p, u64 total_ns)
{
	u64 *lengths = p->count > PIECES_SHOWN ? calloc(p->count, sizeof(*lengths)) : NULL;

	if (!lengths)
		return;
	for (size_t i = 0; i < p->count; i++)
		lengths[i] = p->data[i].end_ns - p->data[i].begin_ns;
	qsort(lengths, p->count, sizeof(*lengths), longer_first);
	p->shown_from_ns = lengths[PIECES_SHOWN - 1];
	if (p->shown_from_ns < total_ns / SHARE_SHOWN)
		p->shown_from_ns = total_ns / SHARE_SHOWN;
	free(lengths);
}

static bool pieces_make(struct pieces *p, const struct critical_answer *a)
{
	p->data = calloc(a->rows.count + 1, sizeof(*p->data));
	if (!p->data)
		return false;
	for (size_t i = 0; i < a->rows.count; i++) {
		const struct critical_row *row = &a->rows.data[i];
		struct piece *last = p->count ? &p->data[p->count - 1] : NULL;

		if (!last || !says_the_same(last->row, row)) {
			last = &p->data[p->count++];
			*last = (struct piece){row, row->begin_ns, row->end_ns, 0};
		}
		last->end_ns = row->end_ns;
		last->unsure_ns += row->most_ns - row->least_ns;
	}
	pieces_choose(p, a->end_ns - a->begin_ns);
	return true;
}

/* A line without its text: the mark, the offset, the length and its share. */
static void line_begin(const struct terminal *t, const struct critical_answer *a, u64 begin_ns,
		       u64 length_ns, bool longest)
{
	u64 total_ns = a->end_ns - a->begin_ns;
	char offset[UNITS_TEXT_BYTES], length[UNITS_TEXT_BYTES];

	fprintf(t->file, "%c +%-8s %9s %4.0f %%  ", longest ? '>' : ' ',
		units_format_ns((int64_t)(begin_ns - a->begin_ns), offset),
		units_format_ns((int64_t)length_ns, length),
		total_ns ? 100.0 * (double)length_ns / (double)total_ns : 0);
}

static void sentence_write(const struct terminal *t, const struct piece *piece)
{
	const struct critical_row *row = piece->row;
	char text[2048], half[UNITS_TEXT_BYTES];
	int n = snprintf(text, sizeof(text), "%s %s%s%s", row->subject, row->verb,
			 *row->rest ? " " : "", row->rest);

	if (piece->unsure_ns && n > 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n,
			 ", give or take %s by the clocks of two "
			 "hosts",
			 units_format_ns((int64_t)(piece->unsure_ns + 1) / 2, half));
	terminal_words(t, text, 29);
	putc('\n', t->file);
}

/* Writes pieces that are too short for lines of their own; returns the number of the next one. */
static size_t short_ones_write(const struct terminal *t, const struct critical_answer *a,
			       const struct pieces *p, size_t first)
{
	size_t end = first;

	while (end < p->count && p->data[end].end_ns - p->data[end].begin_ns < p->shown_from_ns)
		end++;
	line_begin(t, a, p->data[first].begin_ns, p->data[end - 1].end_ns - p->data[first].begin_ns,
		   false);
	fprintf(t->file, "(%zu shorter piece%s)\n", end - first, end - first == 1 ? "" : "s");
	return end;
}

static void pieces_write(const struct terminal *t, const struct critical_answer *a,
			 const struct pieces *p, const struct piece *longest)
{
	for (size_t i = 0; i < p->count;) {
		const struct piece *piece = &p->data[i];

		if (piece->end_ns - piece->begin_ns < p->shown_from_ns) {
			i = short_ones_write(t, a, p, i);
			continue;
		}
		line_begin(t, a, piece->begin_ns, piece->end_ns - piece->begin_ns,
			   piece == longest);
		sentence_write(t, piece);
		i++;
	}
}

/* The sentence of the kind of piece that took most of the time, with that time. */
static void most_write(const struct terminal *t, const struct critical_answer *a,
		       const struct pieces *p)
{
	const struct critical_row *most = NULL;
	u64 most_ns = 0, total_ns = a->end_ns - a->begin_ns;
	char length[UNITS_TEXT_BYTES];

	for (size_t i = 0; i < p->count; i++) {
		u64 sum_ns = 0;

		if (p->data[i].end_ns - p->data[i].begin_ns < p->shown_from_ns)
			continue; /* so the work is bounded */
		for (size_t k = 0; k < p->count; k++)
			if (says_the_same(p->data[i].row, p->data[k].row))
				sum_ns += p->data[k].end_ns - p->data[k].begin_ns;
		if (sum_ns > most_ns) {
			most_ns = sum_ns;
			most = p->data[i].row;
		}
	}
	if (!most || !total_ns)
		return;
	putc('\n', t->file);
	terminal_sentence(t, "most of it: ", "%s %s %s%s%s (%.0f %% of the time)", most->subject,
			  most->verb, units_format_ns((int64_t)most_ns, length),
			  *most->rest ? " " : "", most->rest,
			  100.0 * (double)most_ns / (double)total_ns);
}

void critical_text_write(const struct terminal *t, const struct critical_answer *a)
{
	struct pieces p = {0};
	const struct piece *longest;
	char length[UNITS_TEXT_BYTES];

	fprintf(t->file, "request %s  ", a->trace_id);
	terminal_text(t, a->name);
	fprintf(t->file, "  %s\n\n", units_format_ns((int64_t)(a->end_ns - a->begin_ns), length));
	if (!pieces_make(&p, a) || !p.count) {
		free(p.data);
		return;
	}
	longest = p.data;
	for (size_t i = 1; i < p.count; i++)
		if (p.data[i].end_ns - p.data[i].begin_ns > longest->end_ns - longest->begin_ns)
			longest = &p.data[i];
	pieces_write(t, a, &p, longest);
	most_write(t, a, &p);
	free(p.data);
}
