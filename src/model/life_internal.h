/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a life share: its ledgers, and what each event does. */
#ifndef MODEL_LIFE_INTERNAL_H
#define MODEL_LIFE_INTERNAL_H

#include "model/life.h"

/* ---- the head ---- */

/* A kept record stands behind its entry. */
struct head_entry {
	u32 bytes; /* of this entry, a multiple of 8 */
	u32 event;
};

/* ---- life_ledger.c ---- */

/*
 * Adds [from, to) to the total and to both ledgers; from >= to adds nothing. No span of a program
 * has what its thread does in the next one.
 */
static inline void life_spend(struct life *l, enum split_part part, u64 from_ns, u64 to_ns)
{
	u64 exec_ns = l->state.exec_ns;
	s64 ns;

	if (from_ns < l->clip_from_ns)
		from_ns = l->clip_from_ns;
	if (l->clip_to_ns && to_ns > l->clip_to_ns)
		to_ns = l->clip_to_ns;
	if (from_ns >= to_ns)
		return;
	ns = (s64)(to_ns - from_ns);
	l->total.ns[part] += ns;
	l->seen.open.ns[part] += ns;
	if (__builtin_expect(exec_ns && exec_ns < to_ns, 0))
		ns = exec_ns > from_ns ? (s64)(exec_ns - from_ns) : 0;
	l->active.open.ns[part] += ns;
}

/* If all until an exec is accounted, the span that was active ends there. */
void life_exec_ended(struct life *l, const struct life_sink *sink);

/* After each record. */
static inline void life_exec_end(struct life *l, const struct life_sink *sink)
{
	if (__builtin_expect(l->state.exec_ns != 0, 0))
		life_exec_ended(l, sink);
}

/* own->ctx (all zero: none) was seen published from own->begin_ns to own->end_ns. */
void life_sight(struct life *l, const struct life_share *own, const struct life_sink *sink);

/* Nothing comes from the left, and all is accounted: tells the time of which nobody was named. */
void life_unnamed_tell(struct life *l, const struct life_sink *sink);

/* No context was seen until end_ns: what life_sight() does then, once an owner is known. */
static inline void life_unsighted(struct life *l, u64 end_ns)
{
	l->seen.owner = (struct context){0};
	l->seen.since_ns = end_ns;
	l->seen.open = (struct split){0};
}

/* Joins a ledger of a right half, `b`, into that of the left one, `a`; calls `tell` for what is
 * whole. */
void life_ledger_join(struct life *left, struct life_ledger *a, const struct life_ledger *b,
		      void (*tell)(void *, const struct life *, const struct life_share *),
		      const struct life_sink *sink);

/* ---- life_wait.c ---- */

/* No fault is open. */
static inline void life_nested_leave(struct life_state *s)
{
	if (s->nested.from_ns || s->nested.doubt_ns)
		s->nested = (struct life_nested){0};
}

/* Accounts the stay off the CPU that ends at t and tells it. */
void life_wait_end(struct life *l, u64 t, const struct life_sink *sink);

/* The same of a thread that has the CPU now: what hangs on its next record is held until then. */
void life_wait_hold(struct life *l, u64 t, const struct life_sink *sink);

/* Tells what is held, by what the next record is; NULL: there is none. */
void life_held_tell(struct life *l, enum life_event event, const struct record_head *r,
		    const struct life_sink *sink);

/* It got the CPU unseen, and is in that visit: it was off the CPU until it was woken, at least. */
void life_wait_end_unseen(struct life *l, u64 t, u64 visit_ns, const struct life_sink *sink);

/* It got the CPU, and nothing says how it had left it: its next record may, so that is held. */
void life_unseen_end(struct life *l, u64 t, const struct life_sink *sink);

/* ---- life_events.c ---- */

/* Of a waking before a LIFE_RUNS: it counts still if it came in the visit that the thread is in. */
void life_runs_wake(struct life *l, const struct record_switch *sw);

/* Accounts up to the record and takes the state after it. */
void life_apply(struct life *l, enum life_event event, const struct record_head *r,
		const struct life_sink *sink);

/* Accounts the last interval, which no record ends, up to to_ns. */
void life_account(struct life *l, u64 to_ns, const struct life_sink *sink);

/* Whether a thread that left its CPU in this state has to be woken. */
static inline bool life_leave_sleeps(u8 state)
{
	return state != LEAVE_preempted && state != LEAVE_throttled && state != LEAVE_dead;
}

/* A time before t. What claims to have begun before the clock did is damaged: it begins there. */
static inline u64 life_ago(u64 t, u64 ago_ns)
{
	return ago_ns < t ? t - ago_ns : 0;
}

/* What it did before it came into the recording is no part of that. */
static inline u64 life_recorded_from(const struct life *l, u64 begin_ns)
{
	return l->born && begin_ns < l->origin_ns ? l->origin_ns : begin_ns;
}

#endif
