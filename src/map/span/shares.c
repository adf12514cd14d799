/* SPDX-License-Identifier: Apache-2.0 */
/* The time that each thread gave to a span, and when it had it. */
#include "map/span/shares.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"

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

/* Sightings that follow each other are one, in whichever pieces they are told. */
static bool hold_widen(struct span_hold *h, const struct span_hold *more)
{
	/* where records were lost a sighting may end before it begins: the same one is one */
	bool same = more->begin_ns == h->begin_ns && more->end_ns == h->end_ns;

	if (!same && (more->begin_ns > h->end_ns || more->end_ns < h->begin_ns))
		return false;
	if (more->begin_ns < h->begin_ns)
		h->begin_ns = more->begin_ns;
	if (more->end_ns > h->end_ns)
		h->end_ns = more->end_ns;
	split_add(&h->split, &more->split);
	return true;
}

static struct span_hold share_once(const struct span_share *s)
{
	return (struct span_hold){s->begin_ns, s->end_ns, s->split};
}

/* A moment has no time: one between others tells nothing that is asked for. */
static bool is_between(const struct span_share *s, const struct span_hold *h)
{
	return h->begin_ns == h->end_ns && h->begin_ns > s->begin_ns && h->end_ns < s->end_ns;
}

/* Since the last one grew: those before it that it reaches by now, or that lie between. */
static void holds_settle(struct span_share *s)
{
	size_t n = s->holds.count;

	for (; n > 1; n--) {
		struct span_hold *last = &s->holds.data[n - 1], *before = last - 1;

		if (is_between(s, before))
			*before = *last;
		else if (!hold_widen(before, last))
			break;
	}
	s->holds.count = n > 1 ? n : 0;
}

static int hold_add(struct span_shares *shares, struct span_share *s, const struct span_hold *more)
{
	struct span_hold once = share_once(s);
	int err = 0;

	if (shares->sighted && is_between(s, more))
		return 0;
	if (s->holds.count || !(shares->sighted && hold_widen(&once, more))) {
		if (!s->holds.count)
			err = vec_push(&s->holds, once);
		if (!err)
			err = vec_push(&s->holds, *more);
		if (err)
			return err;
	}
	split_add(&s->split, &more->split);
	if (more->begin_ns < s->begin_ns)
		s->begin_ns = more->begin_ns;
	if (more->end_ns > s->end_ns)
		s->end_ns = more->end_ns;
	if (shares->sighted)
		holds_settle(s);
	return 0;
}

static int hold_compare(const void *a, const void *b)
{
	const struct span_hold *x = a, *y = b;

	COMPARE(x->begin_ns, y->begin_ns);
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void holds_sort(struct span_share *s, bool sighted)
{
	size_t kept = 0;

	if (!s->holds.count)
		return;
	qsort(s->holds.data, s->holds.count, sizeof(*s->holds.data), hold_compare);
	for (size_t i = 1; i < s->holds.count && sighted; i++) {
		struct span_hold *last = &s->holds.data[kept], *h = &s->holds.data[i];

		if (!hold_widen(last, h) && !is_between(s, h))
			s->holds.data[++kept] = *h;
	}
	if (sighted)
		s->holds.count = kept ? kept + 1 : 0;
}

static void holds_coalesce(struct span_share *s, u64 before_ns)
{
	size_t kept = 0;

	if (!s->holds.count)
		return;
	holds_sort(s, false);
	for (size_t i = 1; i < s->holds.count; i++) {
		struct span_hold *last = &s->holds.data[kept], *h = &s->holds.data[i];

		if (h->begin_ns != last->end_ns || h->end_ns >= before_ns || !hold_widen(last, h))
			s->holds.data[++kept] = *h;
	}
	s->holds.count = kept ? kept + 1 : 0; /* one is the share itself */
}

/* ---- of a span ---- */

int share_add(struct span_shares *shares, const struct span_share *once)
{
	struct span_share *s = share_of(shares, once->tid);
	struct span_hold more = share_once(once);

	return s ? hold_add(shares, s, &more) : share_push(shares, once);
}

static int share_join(struct span_shares *to, struct span_share *from)
{
	struct span_share *s = share_of(to, from->tid), copy = *from;
	int err = 0;

	if (!s) {
		copy.holds.data = NULL;
		copy.holds.count = copy.holds.capacity = 0;
		err = share_push(to, &copy);
		return err ? err : vec_move(&to->list.data[to->list.count - 1].holds, &from->holds);
	}
	if (!from->holds.count)
		return share_add(to, from);
	for (size_t i = 0; i < from->holds.count && !err; i++)
		err = hold_add(to, s, &from->holds.data[i]);
	return err;
}

int shares_join(struct span_shares *to, struct span_shares *from)
{
	int err = 0;

	for (size_t i = 0; i < from->list.count && !err; i++)
		err = share_join(to, &from->list.data[i]);
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
		holds_sort(&shares->list.data[i], shares->sighted);
	if (shares->list.count)
		qsort(shares->list.data, shares->list.count, sizeof(*shares->list.data),
		      share_compare);
	return shares_number(shares);
}

void shares_coalesce(struct span_shares *shares, u64 before_ns)
{
	for (size_t i = 0; i < shares->list.count; i++)
		holds_coalesce(&shares->list.data[i], before_ns);
}

void shares_free(struct span_shares *shares)
{
	for (size_t i = 0; i < shares->list.count; i++)
		vec_free(&shares->list.data[i].holds);
	vec_free(&shares->list);
	map_free(&shares->numbers);
}
