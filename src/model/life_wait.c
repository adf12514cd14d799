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

static enum split_part wait_part(const struct life_leave *v, const struct life_wake *wake,
				 const char **reason)
{
	struct cause_query q = {
		.mode = v->mode & MODE_MASK,
		.nr = v->nr,
		.abi_flags = v->mode & MODE_COMPAT ? SYSCALL_COMPAT : 0,
		.leave_state = v->state,
		.file = v->file,
		.arg0 = v->arg0,
		.has_waker = wake->has,
		.waker_context = wake->context,
		.waker_vector = wake->vector,
		.waker_irq = wake->irq,
		.waker_file = wake->file,
		.waker_block = wake->block != 0,
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

/* The stay off the CPU [last, t], as far as it is told by what was seen until now. */
static struct life_stay stay_of(const struct life_state *s, u64 t)
{
	struct life_stay stay = {.begin_ns = s->last_ns, .end_ns = t, .woken_ns = t};

	if (s->wake.has && life_leave_sleeps(s->leave.state) && !s->leave.fresh) {
		stay.wake = s->wake;
		stay.woken_ns = s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
		if (stay.woken_ns > t)
			stay.woken_ns = t;
	}
	stay.known_ns = wait_known(s, stay.woken_ns, t);
	if (stay.known_ns < stay.woken_ns)
		stay.woken_ns = stay.known_ns;
	if (stay.wake.has && s->slept_from_ns && s->slept_from_ns < stay.woken_ns)
		stay.doubt_ns = s->slept_from_ns > s->last_ns ? s->slept_from_ns : s->last_ns;
	return stay;
}

/* Accounts the stay; from its doubt to the waking it is unknown. */
static void stay_tell(struct life *l, const struct life_stay *stay, const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	const struct life_leave *v = &s->leave;
	struct life_wait w = {.begin_ns = stay->begin_ns,
			      .end_ns = stay->end_ns,
			      .visit_ns = v->visit_ns,
			      .nr = v->nr,
			      .mode = v->mode,
			      .state = v->state,
			      .unsure = stay->doubt_ns || stay->known_ns < stay->end_ns,
			      .wake = stay->wake,
			      .file = v->file,
			      .ctx = v->ctx};
	u64 slept = stay->doubt_ns ? stay->doubt_ns : stay->woken_ns;

	w.part = wait_part(v, &stay->wake, &w.reason);
	w.split.ns[w.part] += (s64)(slept - w.begin_ns);
	w.split.ns[SPLIT_runnable] += (s64)(stay->known_ns - stay->woken_ns);
	w.split.ns[SPLIT_unknown] += (s64)(stay->woken_ns - slept + w.end_ns - stay->known_ns);
	life_spend(l, w.part, w.begin_ns, slept);
	life_spend(l, SPLIT_unknown, slept, stay->woken_ns);
	life_spend(l, SPLIT_runnable, stay->woken_ns, stay->known_ns);
	life_spend(l, SPLIT_unknown, stay->known_ns, w.end_ns);
	if (s->visit_guess_ns)
		s->visit_guess_ns = w.end_ns;
	visit_add_wait(s, &w);
	/* while it is off the CPU its context does not change */
	if (!context_is_none(&w.ctx))
		life_sight(l,
			   &(struct life_share){.ctx = w.ctx,
						.begin_ns = w.begin_ns,
						.end_ns = w.end_ns,
						.split = w.split},
			   sink);
	sink->wait(sink->arg, l, &w);
}

void life_wait_end(struct life *l, u64 t, const struct life_sink *sink)
{
	struct life_stay stay = stay_of(&l->state, t);

	stay_tell(l, &stay, sink);
}

void life_wait_hold(struct life *l, u64 t, const struct life_sink *sink)
{
	struct life_stay stay = stay_of(&l->state, t);

	if (stay.doubt_ns)
		l->state.held = stay;
	else
		stay_tell(l, &stay, sink);
}

void life_held_tell(struct life *l, u64 visit_ns, const struct life_sink *sink)
{
	struct life_stay stay = l->state.held;

	l->state.held = (struct life_stay){0};
	if (visit_ns && visit_ns <= stay.begin_ns)
		stay.doubt_ns = 0;
	stay_tell(l, &stay, sink);
}

void life_unseen_end(struct life *l, u64 t, const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	struct life_wait w = {.begin_ns = t,
			      .end_ns = t,
			      .mode = MODE_syscall, /* as a rule: which one is told at its end */
			      .state = LEAVE_sleep,
			      .part = SPLIT_runnable,
			      .reason = "",
			      .wake = s->wake};

	if (s->place == LIFE_UNSEEN && s->wake.has && s->wake.time_ns < t)
		w.begin_ns = s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
	w.split.ns[SPLIT_runnable] = (s64)(t - w.begin_ns);
	life_spend(l, SPLIT_unknown, s->last_ns, w.begin_ns);
	life_spend(l, SPLIT_runnable, w.begin_ns, t);
	/* if a syscall that began earlier ends next, this was part of it */
	if (!s->visit_ns)
		s->visit_guess_ns = t;
	s->nested.doubt_ns = t;
	s->visit_had.ns[SPLIT_unknown] += (s64)(w.begin_ns - s->last_ns);
	split_add(&s->visit_had, &w.split);
	if (w.begin_ns < t)
		sink->wait(sink->arg, l, &w);
}

void life_wait_end_unseen(struct life *l, u64 t, u64 visit_ns, const struct life_sink *sink)
{
	struct life_state *s = &l->state;

	if (!s->wake.has || s->wake.time_ns <= s->last_ns || s->wake.time_ns > t)
		return;
	t = s->wake.time_ns;
	if (visit_ns && visit_ns <= s->last_ns) /* it went on behind */
		s->slept_from_ns = 0;
	life_wait_end(l, t, sink);
	s->last_ns = t;
}
