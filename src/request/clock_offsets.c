/* SPDX-License-Identifier: Apache-2.0 */
#include "request/clock_offsets.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "request/messages.h"

#define MILLION 1000000
#define NO_MIN INT64_MIN
#define NO_MAX INT64_MAX

/* One side of an interval, as a message gives it, at a time of the pair's first host. */
struct clock_bound {
	u32 host, against;
	u64 at_ns;
	s64 ns;
	bool is_max;
};

struct bounds {
	VEC(struct clock_bound) list; /* by pair, then time */
};

/* ---- bounds ---- */

static struct clock_bound bound_of(const struct message *m)
{
	if (m->from < m->to)
		return (struct clock_bound){m->from, m->to, m->sent_ns,
					    (s64)(m->received_ns - m->sent_ns), true};
	return (struct clock_bound){m->to, m->from, m->received_ns,
				    (s64)(m->sent_ns - m->received_ns), false};
}

static int bound_compare(const void *a, const void *b)
{
	const struct clock_bound *x = a, *y = b;

	COMPARE(x->host, y->host);
	COMPARE(x->against, y->against);
	COMPARE(x->at_ns, y->at_ns);
	COMPARE(x->is_max, y->is_max);
	COMPARE(x->ns, y->ns);
	return 0;
}

static int bounds_make(struct bounds *b, const struct connections *connections,
		       const struct thread_times *times)
{
	struct message_list messages = {0};
	int err = messages_find(&messages, connections, times);

	err = err ? err : vec_reserve(&b->list, messages.count);
	for (size_t i = 0; i < messages.count && !err; i++)
		err = vec_push(&b->list, bound_of(&messages.data[i]));
	if (!err && b->list.count)
		qsort(b->list.data, b->list.count, sizeof(struct clock_bound), bound_compare);
	vec_free(&messages);
	return err;
}

/* ---- stretches ---- */

static u64 apart(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* How far two clocks can drift apart in a time. */
static s64 drift_ns(u64 length_ns)
{
	return (s64)(length_ns / MILLION * CLOCK_DRIFT_PPM +
		     length_ns % MILLION * CLOCK_DRIFT_PPM / MILLION + 1);
}

static void interval_narrow(struct clock_interval *i, s64 min_ns, s64 max_ns)
{
	if (min_ns > i->min_ns)
		i->min_ns = min_ns;
	if (max_ns < i->max_ns)
		i->max_ns = max_ns;
}

/* The interval of another instant, as far away as that. A side that is not known stays so. */
static struct clock_interval drifted(const struct clock_interval *i, u64 length_ns)
{
	s64 drift = drift_ns(length_ns);

	return (struct clock_interval){i->min_ns == NO_MIN ? NO_MIN : i->min_ns - drift,
				       i->max_ns == NO_MAX ? NO_MAX : i->max_ns + drift};
}

/* What the bounds [first, end) say of the instant in their middle. */
static struct clock_offset stretch_of(const struct bounds *b, size_t first, size_t end)
{
	const struct clock_bound *list = b->list.data;
	struct clock_offset o = {.at_ns = list[first].at_ns +
					  (list[end - 1].at_ns - list[first].at_ns) / 2,
				 .interval = {NO_MIN, NO_MAX}};

	for (size_t i = first; i < end; i++) {
		s64 drift = drift_ns(apart(list[i].at_ns, o.at_ns));

		if (list[i].is_max)
			interval_narrow(&o.interval, NO_MIN, list[i].ns + drift);
		else
			interval_narrow(&o.interval, list[i].ns - drift, NO_MAX);
	}
	return o;
}

static bool contradict(const struct clock_interval *a, const struct clock_interval *b)
{
	return a->min_ns > b->max_ns || b->min_ns > a->max_ns;
}

/* Narrows each stretch by those before it, then by those behind it. */
static void hull_make(struct clock_offset *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct clock_interval near = drifted(&list[i - 1].interval,
						     list[i].at_ns - list[i - 1].at_ns);

		list[i].set = contradict(&near, &list[i].interval);
		if (!list[i].set)
			interval_narrow(&list[i].interval, near.min_ns, near.max_ns);
	}
	for (size_t i = count; i-- > 1;) {
		struct clock_interval near = drifted(&list[i].interval,
						     list[i].at_ns - list[i - 1].at_ns);

		if (!list[i].set)
			interval_narrow(&list[i - 1].interval, near.min_ns, near.max_ns);
	}
}

/* Leaves out what is still known on one side only. Returns how many are left. */
static size_t one_sided_drop(struct clock_offset *list, size_t count)
{
	size_t kept = 0;
	bool set = false;

	for (size_t i = 0; i < count; i++) {
		set |= list[i].set;
		if (list[i].interval.min_ns == NO_MIN || list[i].interval.max_ns == NO_MAX)
			continue;
		list[kept] = list[i];
		list[kept++].set = set;
		set = false;
	}
	return kept;
}

/* ---- pairs ---- */

/* Makes the pair of the bounds [first, end). 0 or -ENOMEM. */
static int pair_add(struct clock_offsets *out, const struct bounds *b, size_t first, size_t end)
{
	struct clock_pair pair = {b->list.data[first].host, b->list.data[first].against,
				  out->list.count, 0};
	int err = 0;

	for (size_t at = first; at < end && !err; at += CLOCK_STRETCH_MESSAGES) {
		size_t to = end - at > CLOCK_STRETCH_MESSAGES ? at + CLOCK_STRETCH_MESSAGES : end;
		struct clock_offset o = stretch_of(b, at, to);

		if (o.interval.min_ns > o.interval.max_ns)
			out->contradictory++;
		else
			err = vec_push(&out->list, o);
	}
	if (err)
		return err;
	hull_make(out->list.data + pair.first, out->list.count - pair.first);
	out->list.count = pair.first +
			  one_sided_drop(out->list.data + pair.first, out->list.count - pair.first);
	pair.end = out->list.count;
	return pair.end > pair.first ? vec_push(&out->pairs, pair) : 0;
}

int clock_offsets_find(struct clock_offsets *out, const struct connections *connections,
		       const struct thread_times *times)
{
	struct bounds b = {0};
	int err = bounds_make(&b, connections, times);

	for (size_t first = 0, end; first < b.list.count && !err; first = end) {
		for (end = first + 1; end < b.list.count; end++)
			if (b.list.data[end].host != b.list.data[first].host ||
			    b.list.data[end].against != b.list.data[first].against)
				break;
		err = pair_add(out, &b, first, end);
	}
	vec_free(&b.list);
	return err;
}

void clock_offsets_free(struct clock_offsets *o)
{
	vec_free(&o->pairs);
	vec_free(&o->list);
}

/* ---- asking ---- */

/* The interval of a pair at an instant of its first host. */
static struct clock_interval pair_at(const struct clock_offsets *o, const struct clock_pair *pair,
				     u64 time_ns)
{
	const struct clock_offset *list = o->list.data + pair->first;
	size_t count = pair->end - pair->first, low = 0, high = count;
	struct clock_interval i, next;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].at_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return drifted(&list[0].interval, list[0].at_ns - time_ns);
	i = drifted(&list[low - 1].interval, time_ns - list[low - 1].at_ns);
	if (low == count)
		return i;
	next = drifted(&list[low].interval, list[low].at_ns - time_ns);
	if (!list[low].set) {
		interval_narrow(&i, next.min_ns, next.max_ns);
		return i;
	}
	/* a clock was set in between, before or behind this instant: either may hold */
	i.min_ns = next.min_ns < i.min_ns ? next.min_ns : i.min_ns;
	i.max_ns = next.max_ns > i.max_ns ? next.max_ns : i.max_ns;
	return i;
}

static const struct clock_pair *pair_find(const struct clock_offsets *o, u32 host, u32 against)
{
	size_t n = COUNT_BEFORE(&o->pairs, p,
				p->host < host || (p->host == host && p->against < against));
	const struct clock_pair *p = n < o->pairs.count ? &o->pairs.data[n] : NULL;

	return p && p->host == host && p->against == against ? p : NULL;
}

bool clock_offset_at(const struct clock_offsets *o, u32 from, u32 to, u64 time_ns,
		     struct clock_interval *out)
{
	const struct clock_pair *pair = from < to ? pair_find(o, from, to) : pair_find(o, to, from);
	struct clock_interval i;

	if (from == to) {
		*out = (struct clock_interval){0, 0};
		return true;
	}
	if (!pair)
		return false;
	if (from < to) {
		*out = pair_at(o, pair, time_ns);
		return true;
	}
	/* the instant by the pair's first clock: the offset there moves by the drift alone */
	i = o->list.data[pair->first].interval;
	i = pair_at(o, pair, time_ns - (u64)clock_interval_middle(&i));
	i = pair_at(o, pair, time_ns - (u64)clock_interval_middle(&i));
	*out = (struct clock_interval){-i.max_ns, -i.min_ns};
	return true;
}
