/* SPDX-License-Identifier: Apache-2.0 */
/* Stays off the CPU: what they were, and how much of each is known. */
#include "model/life_doubt.h"

/* The visit had this stay off the CPU. */
static void visit_add_wait(struct life_state *s, const struct life_wait *w)
{
	if (s->visit_ns || s->visit_guess_ns)
		split_add(&s->visit_had, &w->split);
	if ((w->mode & MODE_MASK) != MODE_fault) {
		life_nested_leave(s);
		return;
	}
	if (!s->nested.from_ns)
		s->nested.from_ns = w->begin_ns;
	split_add(&s->nested.had, &w->split);
}

static enum split_part wait_part(const struct life_state *s, const char **reason)
{
	const struct life_leave *v = &s->leave;
	struct cause_query q = {
		.mode = v->mode & MODE_MASK,
		.nr = v->nr,
		.abi_flags = v->mode & MODE_COMPAT ? SYSCALL_COMPAT : 0,
		.leave_state = v->state,
		.file = v->file,
		.arg0 = v->arg0,
		.has_waker = s->wake.has,
		.waker_context = s->wake.context,
		.waker_vector = s->wake.vector,
		.waker_irq = s->wake.irq,
		.waker_file = s->wake.file,
		.waker_block = s->wake.block != 0,
	};

	*reason = "";
	if (v->state == LEAVE_preempted || v->fresh)
		return SPLIT_runnable;
	if (v->state == LEAVE_throttled)
		return SPLIT_throttled;
	return cause_find(&q, reason);
}

/*
 * Until when the stay off the CPU [last, t], woken at `woken` (t: not), is told
 * by what was seen. Losses before a waking do not matter. One that was woken or
 * preempted may have run since the first loss after it; one that is still asleep
 * may have run while records were lost, and have slept on something else between two of them.
 */
static u64 wait_known(const struct life_state *s, u64 woken, u64 t)
{
	u64 from = s->doubt_from_ns > s->last_ns ? s->doubt_from_ns : s->last_ns;

	if (!s->doubt_to_ns || from >= t)
		return t;
	if (woken < t || !life_leave_sleeps(s->leave.state) || s->leave.fresh)
		return from > woken || woken == t ? from : woken;
	return t - doubt_within(s, s->last_ns, t);
}

void life_wait_end(struct life *l, u64 t, const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	struct life_leave *v = &s->leave;
	struct life_wait w = {.begin_ns = s->last_ns,
			      .end_ns = t,
			      .visit_ns = v->visit_ns,
			      .nr = v->nr,
			      .mode = v->mode,
			      .state = v->state,
			      .file = v->file,
			      .ctx = v->ctx};
	u64 woken = t, known;

	w.part = wait_part(s, &w.reason);
	if (life_leave_sleeps(v->state) && !v->fresh && s->wake.has) {
		woken = s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
		if (woken > t)
			woken = t;
		w.wake = s->wake;
	}
	known = wait_known(s, woken, t);
	if (known < woken)
		woken = known;
	w.split.ns[w.part] += (s64)(woken - s->last_ns);
	w.split.ns[SPLIT_runnable] += (s64)(known - woken);
	w.split.ns[SPLIT_unknown] += (s64)(t - known);
	life_spend(l, w.part, s->last_ns, woken);
	life_spend(l, SPLIT_runnable, woken, known);
	life_spend(l, SPLIT_unknown, known, t);
	if (s->visit_guess_ns)
		s->visit_guess_ns = t;
	visit_add_wait(s, &w);
	if (!v->fresh)
		sink->wait(sink->arg, l, &w);
}

void life_unseen_end(struct life *l, u64 t)
{
	struct life_state *s = &l->state;
	u64 woken = t;

	if (s->place == LIFE_UNSEEN && s->wake.has && s->wake.time_ns < t)
		woken = s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
	life_spend(l, SPLIT_unknown, s->last_ns, woken);
	life_spend(l, SPLIT_runnable, woken, t);
	/* if a syscall that began earlier ends next, this was part of it */
	if (!s->visit_ns)
		s->visit_guess_ns = t;
	s->nested.doubt_ns = t;
	s->visit_had.ns[SPLIT_unknown] += (s64)(woken - s->last_ns);
	s->visit_had.ns[SPLIT_runnable] += (s64)(t - woken);
}

void life_wait_end_unseen(struct life *l, u64 t, const struct life_sink *sink)
{
	struct life_state *s = &l->state;

	if (!s->wake.has || s->wake.time_ns <= s->last_ns || s->wake.time_ns > t)
		return;
	t = s->wake.time_ns;
	life_wait_end(l, t, sink);
	s->last_ns = t;
}
