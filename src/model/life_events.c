/* SPDX-License-Identifier: Apache-2.0 */
/* The effect of each record: accounting of the time up to it, and the state after it. */
#include "model/life_doubt.h"

/*
 * The greatest time by which a waking can come before the switch-out of its sleeper. The sleeper
 * has left its run queue then: 62 us were measured, and a hypervisor can stop the CPU meanwhile. A
 * thread that is still in its run queue leaves it within microseconds, or does not sleep at all.
 */
#define WAKE_EARLY_NS 1000000
#define WAKE_QUEUED_NS 5000

/* Enters the visit that began at begin_ns. Its waits so far are kept if it is the known visit. */
static void visit_enter(struct life_state *s, u64 begin_ns)
{
	bool same = s->visit_guess_ns ? begin_ns < s->visit_guess_ns : begin_ns == s->visit_ns;

	s->visit_guess_ns = 0;
	s->visit_ns = begin_ns;
	if (same)
		return;
	s->visit_had = (struct split){0};
	s->visit_idle = (struct work_split){0};
	s->visit_work = WORK_NOT;
	s->nested = (struct life_nested){0};
}

static void visit_leave(struct life_state *s)
{
	if (s->visit_ns || s->visit_guess_ns) {
		s->visit_ns = s->visit_guess_ns = 0;
		s->visit_had = (struct split){0};
		s->visit_idle = (struct work_split){0};
		s->visit_work = WORK_NOT;
	}
}

/* The part of time on a CPU outside of visits; `unknown`: some may not have been recorded. */
static enum split_part user_part(bool unknown)
{
	return unknown ? SPLIT_cpu : SPLIT_user;
}

/*
 * Accounts [last, t] of a thread that left user mode at visit_ns (0: it did not), before which it
 * spent `user`, and has been on a CPU until t. If the record of its getting the CPU was lost, the
 * time since the thread was woken is unknown. Returns the kernel time.
 */
static u64 spend_until(struct life *l, enum split_part user, u64 t, u64 visit_ns,
		       const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	u64 border, missed;

	doubt_unseen(s);
	if (s->place == LIFE_OFF_CPU)
		life_wait_end_unseen(l, t, visit_ns, sink);
	border = visit_ns > s->last_ns ? visit_ns : s->last_ns;
	if (visit_ns == 0 || border > t)
		border = t;
	if (visit_ns)
		visit_enter(s, visit_ns);
	if (s->place == LIFE_OFF_CPU || s->place == LIFE_GONE) {
		life_spend(l, SPLIT_unknown, s->last_ns, t);
		s->visit_had.ns[SPLIT_unknown] += (s64)(t - border);
		s->nested.doubt_ns = t;
		return 0;
	}
	if (doubt_within(s, s->last_ns, t))
		s->nested.doubt_ns = t;
	spend_user(l, user, border);
	missed = spend_seen(l, SPLIT_kernel, border, t);
	s->visit_had.ns[SPLIT_unknown] += (s64)missed;
	s->visit_had.ns[SPLIT_kernel] += (s64)(t - border - missed);
	return t - border - missed;
}

/* Notes the published context. Most threads have none, which must be cheap. */
static void sight(struct life *l, const struct context *ctx, const struct life_visit *v,
		  const struct life_sink *sink)
{
	if (l->seen.known && context_is_none(ctx)) {
		life_unsighted(l, v->end_ns);
	} else {
		struct life_share own = {.ctx = *ctx,
					 .begin_ns = v->begin_ns,
					 .end_ns = v->end_ns,
					 .split = v->split};

		life_sight(l, &own, sink);
	}
}

/* ---- one function per event: accounts up to the record, then sets the state ---- */

/* The time at which the thread entered the kernel; 0: it did not, or it is unknown. */
static u64 switch_visit(const struct life *l, const struct record_switch *sw)
{
	bool visits = (sw->mode & MODE_MASK) != MODE_user &&
		      (sw->mode & MODE_MASK) != MODE_kernel_thread;

	if (!visits || !sw->since_ns)
		return 0;
	return life_recorded_from(l, life_ago(sw->head.time_ns, sw->since_ns));
}

/* A context does not change during a visit: one that is found in it was there from its begin. */
static void visit_so_far(const struct life *l, u64 visit_ns, struct life_visit *part)
{
	part->begin_ns = visit_ns > l->origin_ns ? visit_ns : l->origin_ns;
	part->split = l->state.visit_had;
}

/* Accounts up to t by the mode in a switch. Returns the begin of the visit; 0: none. */
static u64 switch_account(struct life *l, const struct record_switch *sw, u64 t,
			  const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	bool thread = (sw->mode & MODE_MASK) != MODE_kernel_thread;
	enum split_part user = user_part(sw->state & LEAVE_BEFORE_UNKNOWN);
	u64 visit = switch_visit(l, sw);
	struct life_visit part = {.begin_ns = t, .end_ns = t}; /* the visit so far */

	if (!thread) { /* a kernel thread is always in the kernel, without visits */
		doubt_unseen(s);
		spend_seen(l, s->place == LIFE_OFF_CPU ? SPLIT_unknown : SPLIT_kernel, s->last_ns,
			   t);
		visit_leave(s);
	} else if (visit) {
		if (visit >= s->last_ns)
			part.begin_ns = visit;
		part.split.ns[SPLIT_kernel] = (s64)spend_until(l, user, t, visit, sink);
		if (!l->seen.known || !context_equal(&l->seen.owner, &sw->ctx))
			visit_so_far(l, visit, &part);
	} else {
		spend_until(l, user, t, 0, sink);
		visit_leave(s);
	}
	if ((sw->mode & MODE_MASK) != MODE_fault || (!visit && !(sw->mode & MODE_IN_SYSCALL)))
		life_nested_leave(s);
	if (thread)
		sight(l, &sw->ctx, &part, sink);
	return visit;
}

/* A call of which the begin was seen is recorded, and so are those behind it. */
u8 life_calls_behind(const struct record_switch *sw)
{
	return sw->state & LEAVE_BEFORE_UNKNOWN && !sw->since_ns ? LIFE_CALLS_UNTOLD
								 : LIFE_CALLS_TOLD;
}

static void switch_take(struct life *l, const struct record_switch *sw, u64 t, u64 visit)
{
	struct life_state *s = &l->state;
	bool ends = (sw->mode & MODE_MASK) ==
		    MODE_exit; /* the end of a thread is a visit without a record */

	s->last_ns = t;
	s->calls = life_calls_behind(sw);
	doubt_clear(s);
	s->leave = (struct life_leave){.time_ns = t,
				       .visit_ns = ends ? 0 : visit,
				       .arg0 = sw->arg0,
				       .nr = sw->nr,
				       .mode = sw->mode,
				       .state = sw->state & LEAVE_MASK,
				       .file = sw->file,
				       .ctx = sw->ctx};
}

/*
 * Whether a waking that came before the thread left its CPU ended the sleep that begins now. Where
 * it is known since when the thread is in its call, the waking must lie in that call. Else its age
 * says so: a thread is awaited for some microseconds while it leaves its CPU.
 */
static bool wake_ends(const struct life_wake *wake, const struct record_switch *sw, u64 visit)
{
	u64 age_ns = life_ago(sw->head.time_ns, wake->time_ns);
	u8 mode = sw->mode & MODE_MASK;

	if (!life_leave_sleeps(sw->state & LEAVE_MASK))
		return false;
	if (visit || (mode != MODE_syscall && mode != MODE_fault))
		return wake->time_ns >= visit;
	return age_ns <= (wake->queued ? WAKE_QUEUED_NS : WAKE_EARLY_NS);
}

static void event_leaves(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_switch *sw = (const void *)r;
	struct life_state *s = &l->state;
	u64 t = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;
	u64 visit = switch_account(l, sw, t, sink);

	if (s->wake.has && !wake_ends(&s->wake, sw, visit))
		s->wake.has = false;
	s->place = (sw->state & LEAVE_MASK) == LEAVE_dead ? LIFE_GONE : LIFE_OFF_CPU;
	switch_take(l, sw, t, visit);
}

void life_runs_wake(struct life *l, const struct record_switch *sw)
{
	struct life_state *s = &l->state;
	u64 visit = switch_visit(l, sw);

	if (!visit || s->wake.time_ns < visit)
		s->wake.has = false;
}

static void event_runs(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_switch *sw = (const void *)r;
	struct life_state *s = &l->state;
	u64 t = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;
	u64 visit = switch_account(l, sw, t, sink);

	life_runs_wake(l, sw);
	s->place = LIFE_ON_CPU; /* or untold, which makes no difference for its time */
	s->cpu = (sw->state & LEAVE_MASK) == LEAVE_untold ? LIFE_CPU_UNKNOWN : r->cpu;
	switch_take(l, sw, t, visit);
}

static void event_enters(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_switch *sw = (const void *)r;
	struct life_state *s = &l->state;
	u64 t = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;

	if (s->place == LIFE_OFF_CPU)
		life_wait_hold(l, t, sw, sink);
	else
		life_unseen_end(l, t, sw, sink);
	s->wake.has = false;
	s->place = LIFE_ON_CPU;
	s->cpu = r->cpu;
	s->last_ns = t;
	s->calls = life_calls_entering(sw);
	doubt_clear(s);
}

static void event_waking(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_waking *w = (const void *)r;
	struct life_state *s = &l->state;

	(void)sink;
	if (s->place == LIFE_OFF_CPU && (s->wake.has || !life_leave_sleeps(s->leave.state)))
		return;
	s->slept_from_ns = 0;
	if (s->place == LIFE_OFF_CPU && !s->leave.fresh) {
		s->slept_from_ns = s->doubt_from_ns;
		doubt_clear(s);
	}
	s->wake = (struct life_wake){.has = true,
				     .time_ns = r->time_ns,
				     .waker_tid = w->waker_tid,
				     .context = w->context & WAKE_CONTEXT_MASK,
				     .queued = (w->context & WAKE_QUEUED) != 0,
				     .own = (w->context & WAKE_OWN) != 0,
				     .fd = (u32)w->fd,
				     .vector = w->vector,
				     .irq = w->irq,
				     .file = w->file,
				     .block = w->block};
}

/* The thread is in user code at t, whatever its state was before. */
static void enter_user(struct life *l, u64 t, u16 cpu)
{
	doubt_clear(&l->state);
	l->state.place = LIFE_ON_CPU;
	l->state.cpu = cpu;
	l->state.last_ns = t;
	l->state.wake.has = false;
	visit_leave(&l->state);
	life_nested_leave(&l->state);
}

/*
 * Completes the split of a visit, which has the time that was seen: adds the time before the
 * recording as unknown, and the rest as `part`.
 */
static void visit_fill(const struct life *l, struct life_visit *v, enum split_part part)
{
	s64 rest;

	if (v->begin_ns < l->origin_ns)
		v->split.ns[SPLIT_unknown] += (s64)(l->origin_ns - v->begin_ns);
	rest = (s64)(v->end_ns - v->begin_ns) - split_total(&v->split);
	for (int i = SPLIT_PARTS_COUNT - 1; rest < 0 && i >= 0; i--) {
		s64 cut = v->split.ns[i] < -rest ? v->split.ns[i] : -rest;

		v->split.ns[i] -= cut;
		rest += cut;
	}
	v->split.ns[part] += rest;
}

/* Whether the thread was on its CPU in user code before the visit, without any doubt. */
static bool visit_is_plain(const struct life *l, const struct life_visit *v)
{
	const struct life_state *s = &l->state;

	return s->place == LIFE_ON_CPU && !s->doubt_to_ns && !s->visit_guess_ns &&
	       v->begin_ns != s->visit_ns && v->begin_ns > s->last_ns &&
	       v->begin_ns >= l->origin_ns && v->begin_ns <= v->end_ns;
}

/* Whether calls before the visit were perhaps not recorded. */
static bool visit_is_first(const struct life_visit *v)
{
	return v->syscall ? v->syscall->flags & SYSCALL_BEFORE_UNKNOWN
			  : v->fault->flags & FAULT_BEFORE_UNKNOWN;
}

static void visit_account(struct life *l, struct life_visit *v, const struct life_sink *sink)
{
	enum split_part user = user_part(visit_is_first(v));

	v->plain = visit_is_plain(l, v);
	if (__builtin_expect(v->plain, 1)) {
		life_spend(l, user, l->state.last_ns, v->begin_ns);
		life_spend(l, SPLIT_kernel, v->begin_ns, v->end_ns);
		v->split.ns[SPLIT_kernel] = (s64)(v->end_ns - v->begin_ns);
		return;
	}
	spend_until(l, user, v->end_ns, v->begin_ns ? v->begin_ns : v->end_ns, sink);
	split_copy_fresh(&v->split, &l->state.visit_had);
	v->idle = l->state.visit_idle;
	v->work = l->state.visit_work;
	visit_fill(l, v, SPLIT_unknown);
}

static void visit_end(struct life *l, struct life_visit *v, const struct context *ctx,
		      const struct life_sink *sink)
{
	u16 cpu = v->syscall ? v->syscall->head.cpu : v->fault->head.cpu;

	visit_account(l, v, sink);
	sight(l, ctx, v, sink);
	sink->visit(sink->arg, l, v);
	enter_user(l, v->end_ns, cpu);
	l->state.calls = LIFE_CALLS_TOLD;
}

static void event_syscall(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_syscall *c = (const void *)r;
	u64 t = r->time_ns > l->state.last_ns ? r->time_ns : l->state.last_ns;
	struct life_visit v = {
		.begin_ns = life_recorded_from(l, life_ago(r->time_ns, c->duration_ns)),
		.end_ns = t,
		.syscall = c};

	visit_end(l, &v, &c->ctx, sink);
}

/*
 * Makes the split of a fault inside a visit that continues: its sleeps, and kernel time. If there
 * were stays off the CPU before its begin, they are of another fault whose record was lost. It is
 * then unknown which stays belong to this fault. The same holds for the rest if its end was not
 * seen.
 */
static void nested_end(struct life *l, struct life_visit *v)
{
	struct life_state *s = &l->state;
	u64 since = v->begin_ns > s->last_ns ? v->begin_ns : s->last_ns, missed = 0;
	bool doubted = s->nested.doubt_ns > v->begin_ns || v->fault->flags & FAULT_SOFT_END;

	if (s->nested.from_ns < v->begin_ns)
		doubted |= s->nested.from_ns != 0;
	else
		v->split = s->nested.had;
	if (s->place == LIFE_ON_CPU)
		missed = doubt_within(s, since, v->end_ns);
	else if (since < v->end_ns)
		missed = v->end_ns - since;
	v->split.ns[SPLIT_unknown] += (s64)missed;
	visit_fill(l, v, doubted ? SPLIT_unknown : SPLIT_kernel);
	life_nested_leave(s);
}

/* Reports the context of a fault in a call: the call, which has the time, may have no record. */
static void fault_sight(const struct life *l, const struct life_visit *v,
			const struct life_sink *sink)
{
	const struct life_share share = {
		.ctx = v->fault->ctx, .tid = l->tid, .begin_ns = v->begin_ns, .end_ns = v->end_ns};

	if (!context_is_none(&share.ctx))
		sink->sighted(sink->arg, l, &share);
}

static void event_fault(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_fault *f = (const void *)r;
	u64 t = r->time_ns > l->state.last_ns ? r->time_ns : l->state.last_ns;
	struct life_visit v = {
		.begin_ns = life_ago(r->time_ns, f->duration_ns), .end_ns = t, .fault = f};

	if (f->flags & FAULT_USER) {
		/* the fault ended at an unknown time, and the thread was in user code again */
		if ((f->flags & (FAULT_SOFT_END | FAULT_SIGNALLED)) == FAULT_SOFT_END &&
		    l->state.place == LIFE_ON_CPU)
			doubt_add(&l->state, v.begin_ns, t);
		visit_end(l, &v, &f->ctx, sink);
		return;
	}
	/* nested in a syscall: reported, but the time of the syscall continues */
	v.end_ns = r->time_ns;
	nested_end(l, &v);
	fault_sight(l, &v, sink);
	sink->visit(sink->arg, l, &v);
}

static void event_user(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	u64 t = r->time_ns > l->state.last_ns ? r->time_ns : l->state.last_ns;

	spend_until(l, user_part(l->state.calls == LIFE_CALLS_UNTOLD), t, 0, sink);
	enter_user(l, t, LIFE_CPU_UNKNOWN);
}

/* Records were lost from begin_ns to the record's time, on one CPU or (no CPU) on any. */
static void event_lost(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_lost *lost = (const void *)r;
	struct life_state *s = &l->state;
	bool here = r->cpu == LIFE_CPU_UNKNOWN || s->cpu == LIFE_CPU_UNKNOWN || r->cpu == s->cpu;
	u64 from = lost->begin_ns;

	(void)sink;
	if (s->place == LIFE_GONE || (s->place == LIFE_ON_CPU && !here))
		return;
	if (from < life_doubt_since(s)) /* a loss without end is fed again with each record */
		from = life_doubt_since(s);
	doubt_add(s, from, r->time_ns);
}

/* The thread left the scope: from here on it is not recorded. */
static void event_out(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	u64 t = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;

	if (s->place == LIFE_OFF_CPU)
		life_wait_end(l, t, sink);
	else if (s->place != LIFE_GONE)
		life_spend(l, SPLIT_unknown, s->last_ns, t);
	visit_leave(s);
	life_nested_leave(s);
	doubt_clear(s);
	s->wake.has = false;
	s->place = LIFE_GONE;
	s->out = true;
	s->last_ns = t;
}

/*
 * The thread was in user code at an earlier time than that of the record. If it is off its CPU, it
 * stays off, and the stay is reported in two parts. The earlier time may be before it left the CPU
 * or, if records were lost since, after it; the end of its call then shows whether the call
 * continued. If it is not off its CPU, its state is unknown: it may still be in the same visit.
 */
static void event_earlier(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	u64 t = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;

	if (s->place == LIFE_OFF_CPU) {
		if (t > s->last_ns)
			life_wait_end(l, t, sink);
		s->slept_from_ns = 0;
		if (s->doubt_to_ns)
			s->doubt_from_ns = s->doubt_to_ns = t;
	} else {
		if (s->place != LIFE_GONE)
			life_spend(l, SPLIT_unknown, s->last_ns, t);
		s->nested.doubt_ns = t;
		s->wake.has = false;
		s->place = LIFE_UNSEEN;
		s->missed = true;
		doubt_clear(s);
	}
	s->last_ns = t;
}

/* After LIFE_EARLIER: sets the active span from there on. */
static void event_names(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	life_active(l, &((const struct record_span_attach *)r)->ctx, sink);
}

/* A snapshot counts only without other records, since it is not taken at one instant. */
static void event_snapshot(struct life *l, const struct record_head *r,
			   const struct life_sink *sink)
{
	const struct record_thread *th = (const void *)r;
	struct life_state *s = &l->state;
	u64 visit = 0; /* begin of its call */

	(void)sink;
	if (s->place != LIFE_UNSEEN || s->wake.has ||
	    (th->flags & (THREAD_ON_CPU | THREAD_UNFOLLOWED | THREAD_LATER)))
		return;
	if ((th->mode & MODE_MASK) == MODE_syscall && (th->since_ns || th->flags & THREAD_ENTERS))
		visit = life_recorded_from(l, life_ago(r->time_ns, th->since_ns));
	if (visit > s->last_ns) {
		life_spend(l, SPLIT_unknown, s->last_ns, visit);
		s->last_ns = visit;
	}
	s->place = LIFE_OFF_CPU;
	s->visit_ns = visit;
	if ((th->mode & MODE_MASK) == MODE_syscall && !visit)
		s->visit_guess_ns = s->last_ns + 1;
	s->leave = (struct life_leave){.time_ns = s->last_ns,
				       .visit_ns = visit,
				       .arg0 = th->arg0,
				       .nr = th->nr,
				       .mode = th->mode,
				       .state = th->state,
				       .file = th->file,
				       .ctx = th->ctx};
}

/*
 * The thread continues in its call, whose record at the end has its begin. Where calls are not
 * recorded, two may come without a record between them: the first one ended all spans.
 */
static void event_execs(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	struct life_state *s = &l->state;

	(void)sink;
	if (s->exec_ns)
		return;
	s->exec_ns = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;
	s->exec_tid = r->tid;
}

typedef void event_fn(struct life *, const struct record_head *, const struct life_sink *);

static event_fn *const events[] = {
	[LIFE_LEAVES] = event_leaves,	  [LIFE_ENTERS] = event_enters,
	[LIFE_WAKING] = event_waking,	  [LIFE_SYSCALL] = event_syscall,
	[LIFE_FAULT] = event_fault,	  [LIFE_USER] = event_user,
	[LIFE_SNAPSHOT] = event_snapshot, [LIFE_OUT] = event_out,
	[LIFE_LOST] = event_lost,	  [LIFE_EARLIER] = event_earlier,
	[LIFE_EXECS] = event_execs,	  [LIFE_RUNS] = event_runs,
	[LIFE_NAMES] = event_names,
};

/* Whether the event completes a held stay off the CPU. */
static bool tells_held(enum life_event event)
{
	return event != LIFE_WAKING && event != LIFE_LOST && event != LIFE_EXECS &&
	       event != LIFE_SNAPSHOT;
}

void life_apply(struct life *l, enum life_event event, const struct record_head *r,
		const struct life_sink *sink)
{
	if (l->state.held.end_ns && tells_held(event))
		life_held_tell(l, event, r, sink);
	events[event](l, r, sink);
	life_exec_end(l, sink);
}

void life_account(struct life *l, u64 to_ns, const struct life_sink *sink)
{
	struct life_state *s = &l->state;

	if (s->held.end_ns)
		life_held_tell(l, LIFE_USER, NULL, sink);
	if (s->place == LIFE_OFF_CPU)
		life_wait_end(l, to_ns > s->last_ns ? to_ns : s->last_ns, sink);
	else if (s->place != LIFE_GONE && to_ns > s->last_ns)
		life_spend(l, SPLIT_unknown, s->last_ns, to_ns);
	if (s->place != LIFE_GONE && to_ns > s->last_ns)
		s->last_ns = to_ns;
}
