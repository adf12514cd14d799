/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that may concern a thread since it was last accounted, and the time around them. */
#ifndef MODEL_LIFE_DOUBT_H
#define MODEL_LIFE_DOUBT_H

#include "model/life_internal.h"

static inline void doubt_clear(struct life_state *s)
{
	s->doubt_from_ns = s->doubt_to_ns = 0;
}

/* Adds [from, to) to the time in which the thread was not seen. */
static inline void doubt_add(struct life_state *s, u64 from, u64 to)
{
	if (from < s->last_ns)
		from = s->last_ns;
	if (from >= to)
		return;
	if (!s->doubt_to_ns || from < s->doubt_from_ns)
		s->doubt_from_ns = from;
	if (to > s->doubt_to_ns)
		s->doubt_to_ns = to;
}

/*
 * If the thread was not seen yet, it may have been off its CPU until it got one during the loss, or
 * it may have had another tid. So all time so far is in doubt.
 */
static inline void doubt_unseen(struct life_state *s)
{
	if (s->place == LIFE_UNSEEN && s->doubt_to_ns)
		s->doubt_from_ns = s->last_ns;
}

/* The part of [from, to) between the begin of the first loss and the end of the last one. */
static inline u64 doubt_within(const struct life_state *s, u64 from_ns, u64 to_ns)
{
	if (!s->doubt_to_ns)
		return 0;
	if (from_ns < s->doubt_from_ns)
		from_ns = s->doubt_from_ns;
	if (to_ns > s->doubt_to_ns)
		to_ns = s->doubt_to_ns;
	return from_ns < to_ns ? to_ns - from_ns : 0;
}

/* Accounts [from, to) on a CPU, without the time in doubt, which is unknown and is returned. */
static inline u64 spend_seen(struct life *l, enum split_part part, u64 from_ns, u64 to_ns)
{
	const struct life_state *s = &l->state;
	u64 missed = doubt_within(s, from_ns, to_ns);
	u64 begin = from_ns > s->doubt_from_ns ? from_ns : s->doubt_from_ns;

	if (!missed) {
		life_spend(l, part, from_ns, to_ns);
		return 0;
	}
	life_spend(l, part, from_ns, begin);
	life_spend(l, SPLIT_unknown, begin, begin + missed);
	life_spend(l, part, begin + missed, to_ns);
	return missed;
}

/*
 * Accounts [last, to) on a CPU, up to where the thread left user mode or was seen in it. The end of
 * a call can be among the lost records. Then the thread may have been in the kernel before the
 * loss, too. `part` is SPLIT_cpu if there may have been calls that were not recorded.
 */
static inline void spend_user(struct life *l, enum split_part part, u64 to_ns)
{
	const struct life_state *s = &l->state;
	u64 known = doubt_within(s, s->last_ns, to_ns) ? s->doubt_to_ns : s->last_ns;

	if (known > to_ns)
		known = to_ns;
	life_spend(l, SPLIT_unknown, s->last_ns, known);
	life_spend(l, part, known, to_ns);
}

#endif
