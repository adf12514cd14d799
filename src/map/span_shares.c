/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread gave to a span, and when it had it. Stays that touch are one, in whichever
 * order and pieces they are told, so that cuts leave no trace.
 */
#include <errno.h>
#include <stdlib.h>

#include "map/internal.h"

#define LISTED 16 /* so many are looked through one after the other */

struct span_share *share_of(const struct span_shares *shares, u32 tid)
{
	if (shares->numbers.count) {
		size_t n = (size_t)(uintptr_t)map_get(&shares->numbers, tid);

		return n ? &shares->list.data[n - 1] : NULL;
	}
	for (size_t i = 0; i < shares->list.count; i++)
		if (shares->list.data[i].tid == tid)
			return &shares->list.data[i];
	return NULL;
}

static int share_number(struct span_shares *shares, size_t at)
{
	return map_put(&shares->numbers, shares->list.data[at].tid, (void *)(uintptr_t)(at + 1));
}

static int shares_number(struct span_shares *shares)
{
	int err = 0;

	map_free(&shares->numbers);
	if (shares->list.count <= LISTED)
		return 0;
	for (size_t i = 0; i < shares->list.count && !err; i++)
		err = share_number(shares, i);
	return err;
}

static int share_push(struct span_shares *shares, const struct span_share *more)
{
	int err = vec_push(&shares->list, *more);

	if (err || shares->list.count <= LISTED)
		return err;
	err = shares->numbers.count ? share_number(shares, shares->list.count - 1)
				    : shares_number(shares);
	if (err) {
		shares->list.count--;
		map_free(&shares->numbers);
	}
	return err;
}

/* ---- when ---- */

static bool hold_widen(u64 *begin_ns, u64 *end_ns, const struct span_hold *more)
{
	if (more->begin_ns > *end_ns || more->end_ns < *begin_ns)
		return false;
	if (more->begin_ns < *begin_ns)
		*begin_ns = more->begin_ns;
	if (more->end_ns > *end_ns)
		*end_ns = more->end_ns;
	return true;
}

static int hold_add(struct span_share *s, const struct span_hold *more)
{
	struct span_hold first = {s->begin_ns, s->end_ns}, *last;
	int err = 0;

	if (!s->holds.count) {
		if (hold_widen(&s->begin_ns, &s->end_ns, more))
			return 0;
		err = vec_push(&s->holds, first);
	}
	if (err)
		return err;
	last = &s->holds.data[s->holds.count - 1];
	if (!hold_widen(&last->begin_ns, &last->end_ns, more))
		err = vec_push(&s->holds, *more);
	if (more->begin_ns < s->begin_ns)
		s->begin_ns = more->begin_ns;
	if (more->end_ns > s->end_ns)
		s->end_ns = more->end_ns;
	return err;
}

static int hold_compare(const void *a, const void *b)
{
	const struct span_hold *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void holds_sort(struct span_share *s)
{
	size_t kept = 0;

	if (!s->holds.count)
		return;
	qsort(s->holds.data, s->holds.count, sizeof(*s->holds.data), hold_compare);
	for (size_t i = 1; i < s->holds.count; i++) {
		struct span_hold *last = &s->holds.data[kept], *h = &s->holds.data[i];

		if (!hold_widen(&last->begin_ns, &last->end_ns, h))
			s->holds.data[++kept] = *h;
	}
	s->holds.count = kept ? kept + 1 : 0;
}

/* ---- of a span ---- */

int share_add(struct span_shares *shares, const struct span_share *once)
{
	struct span_share *s = share_of(shares, once->tid);

	if (!s)
		return share_push(shares, once);
	split_add(&s->split, &once->split);
	return hold_add(s, &(struct span_hold){once->begin_ns, once->end_ns});
}

int shares_join(struct span_shares *to, struct span_shares *from)
{
	int err = 0;

	for (size_t i = 0; i < from->list.count && !err; i++) {
		struct span_share *more = &from->list.data[i], *s = share_of(to, more->tid);

		if (!s) {
			struct span_share copy = *more;

			copy.holds.data = NULL;
			copy.holds.count = copy.holds.capacity = 0;
			err = share_push(to, &copy);
			if (!err)
				err = vec_move(&to->list.data[to->list.count - 1].holds,
					       &more->holds);
			continue;
		}
		split_add(&s->split, &more->split);
		if (!more->holds.count)
			err = hold_add(s, &(struct span_hold){more->begin_ns, more->end_ns});
		for (size_t k = 0; k < more->holds.count && !err; k++)
			err = hold_add(s, &more->holds.data[k]);
	}
	return err;
}

static int share_compare(const void *a, const void *b)
{
	const struct span_share *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int shares_sort(struct span_shares *shares)
{
	for (size_t i = 0; i < shares->list.count; i++)
		holds_sort(&shares->list.data[i]);
	if (shares->list.count)
		qsort(shares->list.data, shares->list.count, sizeof(*shares->list.data),
		      share_compare);
	return shares_number(shares);
}

void shares_free(struct span_shares *shares)
{
	for (size_t i = 0; i < shares->list.count; i++)
		vec_free(&shares->list.data[i].holds);
	vec_free(&shares->list);
	map_free(&shares->numbers);
}
