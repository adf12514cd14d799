/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of a life: its head, its ledgers, its waits, and its events. */
#ifndef MODEL_LIFE_INTERNAL_H
#define MODEL_LIFE_INTERNAL_H

#include "model/life.h"

/* ---- the head ---- */

/* A kept record follows its entry. */
struct head_entry {
	u32 bytes; /* of this entry with its record, a multiple of 8 */
	u32 event;
};

/* ---- life_ledger.c ---- */

/*
 * Adds [from, to) to the total and to both ledgers; from >= to adds nothing. A span of a program
 * does not get the time of its thread in the next program (exec).
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
	if (__builtin_expect(l->meter != NULL, 0))
		meter_spend(l->meter, part, from_ns, to_ns);
	l->total.ns[part] += ns;
	l->seen.open.ns[part] += ns;
	if (__builtin_expect(exec_ns && exec_ns < to_ns, 0))
		ns = exec_ns > from_ns ? (s64)(exec_ns - from_ns) : 0;
	l->active.open.ns[part] += ns;
}

/*
 * Notes that the time [from, to), which is spent as `part`, waits for work under no context. `part`
 * is one of work_is_part().
 */
static inline void life_idle_note(struct life *l, enum split_part part, u64 from_ns, u64 to_ns)
{
	if (from_ns < l->clip_from_ns)
		from_ns = l->clip_from_ns;
	if (l->clip_to_ns && to_ns > l->clip_to_ns)
		to_ns = l->clip_to_ns;
	if (from_ns < to_ns)
		l->idle.open.ns[part - WORK_FIRST_PART] += (s64)(to_ns - from_ns);
}

/* Once all time before an exec is accounted, ends the active span there. */
void life_exec_ended(struct life *l, const struct life_sink *sink);

/* Call this after each record. */
static inline void life_exec_end(struct life *l, const struct life_sink *sink)
{
	if (__builtin_expect(l->state.exec_ns != 0, 0))
		life_exec_ended(l, sink);
}

/* Notes that own->ctx (all zero: none) was published from own->begin_ns to own->end_ns. */
void life_sight(struct life *l, const struct life_share *own, const struct life_sink *sink);

/* No left half will come: reports the time without a named owner. */
void life_unnamed_tell(struct life *l, const struct life_sink *sink);

/* Does what life_sight() does if no context was seen until end_ns and an owner is known. */
static inline void life_unsighted(struct life *l, u64 end_ns)
{
	l->seen.owner = (struct context){0};
	l->seen.since_ns = end_ns;
	l->seen.open = (struct split){0};
}

/* Joins the ledger of active spans of a right half, and its waits for work. */
void life_active_join(struct life *left, const struct life *right, const struct life_sink *sink);

/* Joins ledger `b` of a right half into `a` of the left one. Calls `tell` for complete shares. */
void life_ledger_join(struct life *left, struct life_ledger *a, const struct life_ledger *b,
		      void (*tell)(void *, const struct life *, const struct life_share *),
		      const struct life_sink *sink);

/* ---- life_wait.c ---- */

/* Resets the open fault: there is none. */
static inline void life_nested_leave(struct life_state *s)
{
	if (s->nested.from_ns || s->nested.doubt_ns)
		s->nested = (struct life_nested){0};
}

/* Accounts and reports the stay off the CPU that ends at t. */
void life_wait_end(struct life *l, u64 t, const struct life_sink *sink);

/*
 * The same for a thread that got the CPU by the switch `sw`: a part that depends on its next record
 * is held.
 */
void life_wait_hold(struct life *l, u64 t, const struct record_switch *sw,
		    const struct life_sink *sink);

/* Reports the held stay, by the next record; NULL: there is none. */
void life_held_tell(struct life *l, enum life_event event, const struct record_head *r,
		    const struct life_sink *sink);

/* The thread got the CPU unseen, and is in this visit: it was off the CPU at least until its
 * waking. */
void life_wait_end_unseen(struct life *l, u64 t, u64 visit_ns, const struct life_sink *sink);

/* The thread got the CPU, and its leave was not seen: the stay is held for its next record. */
void life_unseen_end(struct life *l, u64 t, const struct record_switch *sw,
		     const struct life_sink *sink);

/* ---- life_events.c ---- */

/* A waking before a LIFE_RUNS still counts if it came in the current visit of the thread. */
void life_runs_wake(struct life *l, const struct record_switch *sw);

/* enum life_calls behind a switch, of the thread that left its CPU, and of the one that got it. */
u8 life_calls_behind(const struct record_switch *sw);
static inline u8 life_calls_entering(const struct record_switch *sw)
{
	return sw->state & LEAVE_NEXT_UNCALLED ? LIFE_CALLS_UNTOLD : LIFE_CALLS_TOLD;
}

/* Accounts the time up to the record, and sets the state after it. */
void life_apply(struct life *l, enum life_event event, const struct record_head *r,
		const struct life_sink *sink);

/* Accounts the last interval, which has no record at its end, up to to_ns. */
void life_account(struct life *l, u64 to_ns, const struct life_sink *sink);

/* The time ago_ns before t. A time before the begin of the clock is damage, and becomes 0. */
static inline u64 life_ago(u64 t, u64 ago_ns)
{
	return ago_ns < t ? t - ago_ns : 0;
}

/* The begin of a visit, but not before the thread entered the recording. */
static inline u64 life_recorded_from(const struct life *l, u64 begin_ns)
{
	return l->born && begin_ns < l->origin_ns ? l->origin_ns : begin_ns;
}

#endif
