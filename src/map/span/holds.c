/* SPDX-License-Identifier: Apache-2.0 */
#include "map/span/holds.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "map/partial.h"
#include "map/span/shares.h"

/* Records tell which threads had a span that was seen whole; else sightings may, too. */
static bool span_had(const struct app_span *span, u32 tid)
{
	return share_of(&span->active, tid) || (!span->begun && share_of(&span->seen, tid));
}

/*
 * A span whose begin was seen has exactly the time that its records tell. Sightings may tell more
 * of a span that was under way already.
 */
const struct span_share *span_share_of(const struct app_span *span, u32 tid)
{
	const struct span_share *active = share_of(&span->active, tid), *seen;

	if (span->begun)
		return active;
	seen = share_of(&span->seen, tid);
	if (!active || (seen && split_total(&seen->split) > split_total(&active->split)))
		return seen;
	return active;
}

u32 span_threads(const struct app_span *span)
{
	size_t n = span->active.list.count;

	for (size_t i = 0; !span->begun && i < span->seen.list.count; i++)
		n += !share_of(&span->active, span->seen.list.data[i].tid);
	return (u32)n;
}

/* ---- all stays ---- */

/* The only stay of a share that has no list of them. */
static struct span_hold share_once(const struct span_share *s)
{
	return (struct span_hold){s->begin_ns, s->end_ns, s->split};
}

/* Adds what sightings tell of the part of a stay that is left when its end is cut. */
static s64 seen_collect(struct span_holds *h, const struct span_share *seen, u64 begin_ns)
{
	struct span_hold whole = share_once(seen);
	size_t count = seen->holds.count ? seen->holds.count : 1;
	s64 known = 0;

	for (size_t i = 0; i < count; i++) {
		const struct span_hold *once = seen->holds.count ? &seen->holds.data[i] : &whole;

		h->looks.count++;
		if (once->begin_ns < begin_ns || once->end_ns > h->to_ns)
			continue;
		split_add(&h->split, &once->split);
		known = split_sum(known, split_total(&once->split));
	}
	return known;
}

/* `seen`: of the same thread and span, NULL: nothing was. */
static int hold_collect(struct span_holds *h, u32 tid, const struct span_hold *once,
			const struct span_share *seen)
{
	u64 begin_ns = once->begin_ns < h->from_ns ? h->from_ns : once->begin_ns;
	s64 rest, known;

	h->looks.count++;
	if (once->end_ns <= h->to_ns) {
		split_add(&h->split, &once->split);
	} else if (begin_ns < h->to_ns) {
		rest = (s64)(h->to_ns - begin_ns);
		known = seen ? seen_collect(h, seen, once->begin_ns) : 0;
		if (known < rest)
			h->split.ns[SPLIT_unknown] = split_sum(h->split.ns[SPLIT_unknown],
							       rest - known);
	}
	return vec_push(&h->list, (struct interval){once->begin_ns, once->end_ns, tid});
}

static int share_collect(struct span_holds *h, const struct span_share *s,
			 const struct span_share *seen)
{
	struct span_hold once = share_once(s);
	int err = s->holds.count ? 0 : hold_collect(h, s->tid, &once, seen);

	for (size_t i = 0; i < s->holds.count && !err; i++)
		err = hold_collect(h, s->tid, &s->holds.data[i], seen);
	return err;
}

/* Adds the stays of `span` on the threads that `top` had. */
static int span_collect(struct span_holds *h, const struct app_span *top,
			const struct app_span *span)
{
	const struct span_shares *ledgers[] = {&span->active, &span->seen};
	int err = 0;

	for (int b = 0; b < (span->begun ? 1 : 2); b++) {
		h->looks.count += ledgers[b]->list.count;
		for (size_t i = 0; i < ledgers[b]->list.count && !err; i++) {
			const struct span_share *s = &ledgers[b]->list.data[i];

			if (s == span_share_of(span, s->tid) && span_had(top, s->tid))
				err = share_collect(h, s,
						    b == 0 ? share_of(&span->seen, s->tid) : NULL);
		}
	}
	return err;
}

static int below_push(struct span_holds *h, size_t at, size_t top)
{
	int err = 0;

	for (size_t child = h->first_child[at]; child && !err; child = h->next_sibling[child - 1])
		if (child - 1 != top) /* hostile parents may make a circle */
			err = vec_push(&h->below, child - 1);
	return err;
}

static int tree_collect(struct span_holds *h, size_t top)
{
	const struct app_span *span = h->p->spans.data[top];
	int err = span_collect(h, span, span);

	h->below.count = 0;
	err = err ? err : below_push(h, top, top);
	while (h->below.count && h->looks.count < h->looks.most && !err) {
		size_t at = h->below.data[--h->below.count];

		h->looks.count++;
		err = span_collect(h, span, h->p->spans.data[at]);
		err = err ? err : below_push(h, at, top);
	}
	return err;
}

/* ---- at once ---- */

static int time_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Begins and ends of what lies in the range. */
static int borders_collect(struct span_holds *h)
{
	h->begins.count = h->ends.count = 0;
	for (size_t i = 0; i < h->list.count; i++) {
		u64 begin_ns = h->list.data[i].begin_ns, end_ns = h->list.data[i].end_ns;

		begin_ns = begin_ns < h->from_ns ? h->from_ns : begin_ns;
		end_ns = end_ns > h->to_ns ? h->to_ns : end_ns;
		if (begin_ns < end_ns &&
		    (vec_push(&h->begins, begin_ns) || vec_push(&h->ends, end_ns)))
			return -ENOMEM;
	}
	return 0;
}

/* Goes over begins and ends in the order of time; one ends before another begins at once. */
static struct span_held borders_sweep(const struct span_holds *h)
{
	struct span_held held = {.split = h->split, .whole = h->below.count == 0};
	size_t ended = 0;
	u64 since_ns = 0;

	for (size_t begun = 0; ended < h->ends.count;) {
		if (begun < h->begins.count && h->begins.data[begun] < h->ends.data[ended]) {
			if (begun == ended)
				since_ns = h->begins.data[begun];
			begun++;
			if (begun - ended > held.threads)
				held.threads = (u32)(begun - ended);
			continue;
		}
		ended++;
		if (begun == ended)
			held.ns += h->ends.data[ended - 1] - since_ns;
	}
	return held;
}

/* Stays in doubt count as one more thread, with tid 0, which no thread has. */
static int unsure_collect(struct span_holds *h)
{
	int err = 0;

	for (size_t i = 0; i < h->unsure.count && !err; i++)
		err = vec_push(&h->list, h->unsure.data[i]);
	return err;
}

static int borders_sort(struct span_holds *h)
{
	int err;

	intervals_join(&h->list);
	err = borders_collect(h);
	if (err || !h->begins.count)
		return err;
	qsort(h->begins.data, h->begins.count, sizeof(u64), time_compare);
	qsort(h->ends.data, h->ends.count, sizeof(u64), time_compare);
	return 0;
}

int span_holds_of(struct span_holds *h, size_t at, u64 from_ns, u64 to_ns, struct span_held *out)
{
	struct span_held held;
	s64 known;
	int err;

	h->list.count = 0;
	h->split = (struct split){0};
	h->from_ns = from_ns;
	h->to_ns = to_ns;
	err = tree_collect(h, at);
	err = err ? err : borders_sort(h);
	if (err)
		return err;
	held = borders_sweep(h);
	if (h->unsure.count) {
		err = unsure_collect(h);
		err = err ? err : borders_sort(h);
		if (err)
			return err;
		held.unsure_ns = borders_sweep(h).ns - held.ns;
	}
	known = split_total(&held.split);
	if (held.threads <= 1 && known < (s64)held.ns) /* a joined checkpoint has no time */
		held.unsure_ns += held.ns - (u64)known;
	*out = held;
	return 0;
}

void span_holds_free(struct span_holds *h)
{
	vec_free(&h->list);
	vec_free(&h->below);
	vec_free(&h->begins);
	vec_free(&h->ends);
	vec_free(&h->unsure);
}
