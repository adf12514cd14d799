/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/tree.h"

/* The spans of the application linked as a forest, by number in p->spans. */
struct forest {
	const struct partial *p;
	size_t *first_child; /* number + 1; 0: none */
	size_t *next_sibling;
};

static struct app_span *parent_of(const struct partial *p, const struct app_span *span)
{
	struct context up = span->ctx;

	if (!span->begun || !span->parent)
		return NULL;
	memcpy(up.span, &span->parent, sizeof(up.span));
	return bytes_map_get(&p->span_index, &up, sizeof(up));
}

static int forest_build(const struct partial *p, struct forest *f)
{
	struct map number = {0};
	int err = 0;

	*f = (struct forest){.p = p};
	f->first_child = calloc(p->spans.count + 1, sizeof(size_t));
	f->next_sibling = calloc(p->spans.count + 1, sizeof(size_t));
	if (!f->first_child || !f->next_sibling)
		return -ENOMEM;
	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = map_put(&number, (u64)(uintptr_t)p->spans.data[i], (void *)(i + 1));
	for (size_t i = 0; i < p->spans.count && !err; i++) {
		const struct app_span *up = parent_of(p, p->spans.data[i]);
		size_t n = up ? (size_t)map_get(&number, (u64)(uintptr_t)up) : 0;

		if (!n || n == i + 1)
			continue;
		f->next_sibling[i] = f->first_child[n - 1];
		f->first_child[n - 1] = i + 1;
	}
	map_free(&number);
	return err;
}

static void forest_free(struct forest *f)
{
	free(f->first_child);
	free(f->next_sibling);
}

static bool has_thread(const struct span_shares *shares, u32 tid)
{
	for (size_t i = 0; i < shares->list.count; i++)
		if (shares->list.data[i].tid == tid)
			return true;
	return false;
}

/* Adds the time of span `at` and everything below it on the threads of `owner`. */
static void add_below(const struct forest *f, const struct app_span *owner, size_t at, int depth,
		      struct split *sum)
{
	const struct app_span *span = f->p->spans.data[at];

	for (size_t i = 0; i < span->active.list.count; i++)
		if (has_thread(&owner->active, span->active.list.data[i].tid))
			split_add(sum, &span->active.list.data[i].split);
	if (depth >= 256) /* a cycle of hostile parents ends here */
		return;
	for (size_t child = f->first_child[at]; child; child = f->next_sibling[child - 1])
		add_below(f, owner, child - 1, depth + 1, sum);
}

/* The most of these intervals that overlap at one instant. */
static u32 most_at_once(const struct span_shares *shares)
{
	u32 most = shares->list.count ? 1 : 0;

	for (size_t i = 0; i < shares->list.count; i++) {
		u64 at = shares->list.data[i].begin_ns;
		u32 n = 0;

		for (size_t j = 0; j < shares->list.count; j++)
			n += shares->list.data[j].begin_ns <= at &&
			     at < shares->list.data[j].end_ns;
		if (n > most)
			most = n;
	}
	return most;
}

/* Makes the parts sum to the duration: what no thread had is off-thread. */
static void fit(struct span_time *t)
{
	s64 rest = (s64)(t->end_ns - t->begin_ns) - split_total(&t->split);

	if (rest > 0) {
		t->split.ns[SPLIT_off_thread] += rest;
		return;
	}
	/* clocks of two readers differ by nanoseconds: what is over comes off the CPU time */
	for (int part = 0; part < SPLIT_PARTS_COUNT && rest < 0; part++) {
		s64 cut = t->split.ns[part] < -rest ? t->split.ns[part] : -rest;

		t->split.ns[part] -= cut;
		rest += cut;
	}
}

static void bounds_of_shares(const struct span_shares *shares, struct span_time *t)
{
	t->begin_soft = t->end_soft = true;
	for (size_t i = 0; i < shares->list.count; i++) {
		const struct span_share *s = &shares->list.data[i];

		if (!t->begin_ns || s->begin_ns < t->begin_ns)
			t->begin_ns = s->begin_ns;
		if (s->end_ns > t->end_ns)
			t->end_ns = s->end_ns;
	}
}

static void app_time(const struct forest *f, size_t i, struct span_time *t)
{
	const struct app_span *span = f->p->spans.data[i];

	bounds_of_shares(span->active.list.count ? &span->active : &span->seen, t);
	if (span->begun) {
		t->begin_ns = span->begin_ns;
		t->begin_soft = false;
	}
	if (span->ended) {
		t->end_ns = span->end_ns;
		t->end_soft = false;
	} else if (span->begun) {
		t->end_ns = f->p->to_ns;
	}
	if (!t->begin_ns || t->begin_ns > t->end_ns)
		t->begin_ns = t->end_ns;
	add_below(f, span, i, 0, &t->split);
	t->threads = most_at_once(&span->active);
	if (t->threads <= 1)
		fit(t);
}

static void context_time(const struct app_span *span, struct span_time *t)
{
	bounds_of_shares(&span->seen, t);
	for (size_t i = 0; i < span->seen.list.count; i++)
		split_add(&t->split, &span->seen.list.data[i].split);
	t->threads = most_at_once(&span->seen);
	if (t->threads <= 1)
		fit(t);
}

int span_times(const struct partial *p, struct span_time *out)
{
	struct forest f;
	int err = forest_build(p, &f);

	for (size_t i = 0; i < p->spans.count && !err; i++) {
		out[i] = (struct span_time){0};
		if (p->spans.data[i]->begun || p->spans.data[i]->ended)
			app_time(&f, i, &out[i]);
		else
			context_time(p->spans.data[i], &out[i]);
	}
	forest_free(&f);
	return err;
}
