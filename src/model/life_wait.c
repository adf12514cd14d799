/* SPDX-License-Identifier: Apache-2.0 */
/* Stays off the CPU: their causes, and the time in doubt of each. */
#include "model/life_doubt.h"
#include "record/syscalls.h"

/* Adds a stay off the CPU to the visit. */
static void visit_add_wait(struct life_state *s, const struct life_wait *w)
{
	if (s->visit_ns || s->visit_guess_ns) {
		split_add(&s->visit_had, &w->split);
		if (w->work && context_is_none(&w->ctx)) {
			s->visit_idle.ns[w->part - WORK_FIRST_PART] += w->split.ns[w->part];
			s->visit_work = w->work;
		}
	}
	if ((w->mode & MODE_MASK) != MODE_fault) {
		life_nested_leave(s);
		return;
	}
	if (!s->nested.from_ns)
		s->nested.from_ns = w->begin_ns;
	split_add(&s->nested.had, &w->split);
}

u64 life_wait_word(const struct life_wait *w)
{
	const struct file_ref *by = &w->wake.file;

	if (w->wake.has && !by->kind && by->flags & FILE_NONE_WORD)
		return by->key;
	if ((w->mode & MODE_MASK) != MODE_syscall || !life_leave_sleeps(w->state))
		return 0;
	return work_is_futex(w->nr, w->mode & MODE_COMPAT) ? w->arg0 : 0;
}

static struct cause_query wait_query(const struct life_leave *v, const struct life_wake *wake)
{
	return (struct cause_query){
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
		.waker_own = wake->own,
	};
}

static enum split_part wait_part(const struct life_leave *v, const struct life_wake *wake,
				 const char **reason)
{
	struct cause_query q = wait_query(v, wake);

	*reason = "";
	if (v->state == LEAVE_preempted || v->fresh)
		return SPLIT_runnable;
	if (v->state == LEAVE_throttled)
		return SPLIT_throttled;
	return cause_find(&q, reason);
}

static enum work wait_work(const struct life_leave *v, const struct life_wake *wake,
			   enum split_part part)
{
	struct cause_query q = wait_query(v, wake);

	return work_is_part(part) ? work_find(&q, NULL) : WORK_NOT;
}

/*
 * The time up to which the stay off the CPU [last, t], woken at `woken` (t: not woken), is
 * known. Losses before a waking do not matter. A thread that was woken or preempted may have
 * run since the first loss after that. A thread that is still asleep may have run during the
 * losses, and have slept on something else between two of them.
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

/* The stay off the CPU [last, t], as far as it is known now. */
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

/* Accounts and reports a stay. From doubt_ns to the waking it is unknown. */
static void stay_tell(struct life *l, const struct life_stay *stay, const struct turns *turns,
		      const struct life_sink *sink)
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
			      .arg0 = v->arg0,
			      .had_cpu = stay->had_cpu,
			      .turns = turns,
			      .file = v->file,
			      .ctx = v->ctx};
	u64 slept = stay->doubt_ns ? stay->doubt_ns : stay->woken_ns;

	w.wake.queued = false; /* it decided whether the waking ended this stay */
	w.part = wait_part(v, &stay->wake, &w.reason);
	w.work = wait_work(v, &stay->wake, w.part);
	w.split.ns[w.part] += (s64)(slept - w.begin_ns);
	w.split.ns[SPLIT_runnable] += (s64)(stay->known_ns - stay->woken_ns);
	w.split.ns[SPLIT_unknown] += (s64)(stay->woken_ns - slept + w.end_ns - stay->known_ns);
	life_spend(l, w.part, w.begin_ns, slept);
	if (work_is_assumed(w.work) && context_is_none(&w.ctx))
		life_idle_note(l, w.part, w.begin_ns, slept);
	life_spend(l, SPLIT_unknown, slept, stay->woken_ns);
	life_spend(l, SPLIT_runnable, stay->woken_ns, stay->known_ns);
	life_spend(l, SPLIT_unknown, stay->known_ns, w.end_ns);
	if (s->visit_guess_ns)
		s->visit_guess_ns = w.end_ns;
	visit_add_wait(s, &w);
	/* the context does not change while the thread is off the CPU */
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

	stay_tell(l, &stay, NULL, sink);
}

/*
 * Whether the stay may be under a context that is not known yet. A snapshot does not look for the
 * span of a thread that sleeps. The record at the end of its call, or its next leave in that call,
 * has it; a call has one context from its begin to its end. The leave that a snapshot makes up has
 * the time at which the call began, or at which the life is recorded from; a leave that was
 * recorded comes later than both.
 */
static bool stay_awaits_context(const struct life *l, const struct life_stay *stay)
{
	const struct life_leave *v = &l->state.leave;
	const char *reason;

	if (!v->time_ns || (v->time_ns != v->visit_ns && v->time_ns != l->origin_ns) ||
	    !context_is_none(&v->ctx) || (v->mode & MODE_MASK) != MODE_syscall)
		return false;
	return wait_work(v, &stay->wake, wait_part(v, &stay->wake, &reason)) != WORK_NOT;
}

static void stay_hold(struct life_state *s, const struct life_stay *stay, const struct turns *turns)
{
	s->held = *stay;
	s->held_turns = *turns;
}

void life_wait_hold(struct life *l, u64 t, const struct record_switch *sw,
		    const struct life_sink *sink)
{
	struct life_stay stay = stay_of(&l->state, t);
	struct turns turns;
	bool told = turns_get(sw, &turns);

	stay.had_cpu = LIFE_HAD_CPU(sw->head.tid);
	if (stay.doubt_ns || stay_awaits_context(l, &stay))
		stay_hold(&l->state, &stay, &turns);
	else
		stay_tell(l, &stay, told ? &turns : NULL, sink);
}

/* The begin of the visit that a record ends or interrupts; 0: none, or unknown. */
static u64 visit_of(enum life_event event, const struct record_head *r)
{
	const struct record_switch *sw = (const void *)r;
	bool leaves = event == LIFE_LEAVES || event == LIFE_RUNS;
	u64 since = leaves		    ? sw->since_ns
		    : event == LIFE_SYSCALL ? ((const struct record_syscall *)r)->duration_ns
		    : event == LIFE_FAULT   ? ((const struct record_fault *)r)->duration_ns
					    : 0;

	return since ? life_ago(r->time_ns, since) : 0;
}

/* Fills `in` with the call that a record ends or interrupts, as if left for sleep at from_ns. */
static bool call_of(const struct life *l, enum life_event event, const struct record_head *r,
		    u64 from_ns, struct life_leave *in)
{
	*in = (struct life_leave){
		.time_ns = from_ns, .visit_ns = visit_of(event, r), .state = LEAVE_sleep};
	if (event == LIFE_SYSCALL) {
		const struct record_syscall *c = (const void *)r;

		in->nr = c->nr;
		in->mode = MODE_syscall | (c->flags & SYSCALL_COMPAT ? MODE_COMPAT : 0);
		in->arg0 = c->arg0;
		in->file = work_is_futex(c->nr, c->flags & SYSCALL_COMPAT)
				   ? work_futex(c->arg1, c->arg2)
				   : c->file;
		in->ctx = c->ctx;
	} else if (event == LIFE_LEAVES || event == LIFE_RUNS) {
		const struct record_switch *sw = (const void *)r;

		in->nr = sw->nr;
		in->mode = sw->mode & (MODE_MASK | MODE_COMPAT);
		in->arg0 = sw->arg0;
		in->file = sw->file;
		in->ctx = sw->ctx;
	}
	if (in->visit_ns)
		in->visit_ns = life_recorded_from(l, in->visit_ns);
	return (in->mode & MODE_MASK) == MODE_syscall && in->visit_ns && in->visit_ns <= from_ns;
}

static const u8 call_fds[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT;

/* Whether the cause of the sleep is known, be the sleep interruptible or not. */
static bool sleep_is_told(const struct life_leave *in, const struct life_wake *wake)
{
	struct life_leave disk = *in;
	bool native = !(in->mode & MODE_COMPAT) && in->nr < SYSCALL_TABLE_SIZE;
	const char *reason;

	/* a call whose begin was not seen has no file, unless an earlier record had it */
	if (!in->file.kind && (!native || call_fds[in->nr]))
		return false;
	disk.state = LEAVE_disk_sleep;
	return wait_part(in, wake, &reason) == wait_part(&disk, wake, &reason);
}

/* Reports a stay whose begin was not seen: only the time since its waking is known. */
static void unseen_tell(struct life *l, const struct life_stay *stay, const struct turns *turns,
			const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	struct life_wait w = {
		.begin_ns = stay->woken_ns,
		.end_ns = stay->end_ns,
		.mode = MODE_syscall, /* usually; the end of the call says which one */
		.nr = LIFE_CALL_UNKNOWN,
		.state = LEAVE_sleep,
		.part = SPLIT_runnable,
		.reason = "",
		.had_cpu = stay->had_cpu,
		.turns = turns,
		.wake = stay->wake};

	w.split.ns[SPLIT_runnable] = (s64)(w.end_ns - w.begin_ns);
	life_spend(l, SPLIT_unknown, stay->begin_ns, w.begin_ns);
	life_spend(l, SPLIT_runnable, w.begin_ns, w.end_ns);
	/* if a syscall that began earlier ends next, the stay was part of it */
	if (!s->visit_ns)
		s->visit_guess_ns = w.end_ns;
	s->nested.doubt_ns = w.end_ns;
	s->visit_had.ns[SPLIT_unknown] += (s64)(w.begin_ns - stay->begin_ns);
	split_add(&s->visit_had, &w.split);
	if (w.begin_ns < w.end_ns)
		sink->wait(sink->arg, l, &w);
}

/*
 * If no record was missed since the begin, and the thread did not leave its CPU before it was
 * woken, then it slept since the begin. If its next record is of a call that had begun by then, it
 * slept in this call, so the stay is held for that record.
 */
void life_unseen_end(struct life *l, u64 t, const struct record_switch *sw,
		     const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	struct life_stay stay = {.begin_ns = s->last_ns,
				 .end_ns = t,
				 .woken_ns = t,
				 .known_ns = t,
				 .had_cpu = LIFE_HAD_CPU(sw->head.tid),
				 .wake = s->wake};
	bool woken = s->place == LIFE_UNSEEN && s->wake.has && s->wake.time_ns < t;
	struct turns turns;
	bool told = turns_get(sw, &turns);

	if (woken)
		stay.woken_ns = s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
	if (woken && s->wake.time_ns > s->last_ns && !s->doubt_to_ns && !s->missed) {
		s->leave = (struct life_leave){0};
		stay_hold(s, &stay, &turns);
	} else {
		unseen_tell(l, &stay, told ? &turns : NULL, sink);
	}
}

/* Takes the context of the call that a record ends or interrupts. */
static void held_take_context(struct life *l, enum life_event event, const struct record_head *r)
{
	struct context *ctx = &l->state.leave.ctx;

	if (!context_is_none(ctx))
		return;
	if (event == LIFE_SYSCALL)
		*ctx = ((const struct record_syscall *)r)->ctx;
	else if (event == LIFE_LEAVES || event == LIFE_RUNS)
		*ctx = ((const struct record_switch *)r)->ctx;
}

void life_held_tell(struct life *l, enum life_event event, const struct record_head *r,
		    const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	struct life_stay stay = s->held;
	const struct turns *turns = s->held_turns.list[0].ago_ns ? &s->held_turns : NULL;
	struct life_leave in;
	u64 visit_ns = r ? visit_of(event, r) : 0;

	if (event == LIFE_FAULT && r && visit_ns >= stay.end_ns &&
	    !(((const struct record_fault *)r)->flags & FAULT_USER))
		return; /* a fault inside the visit that continues */
	s->held = (struct life_stay){0};
	if (s->leave.time_ns) {
		if (visit_ns && visit_ns <= s->leave.time_ns) {
			stay.doubt_ns = 0;
			held_take_context(l, event, r);
		}
		stay_tell(l, &stay, turns, sink);
	} else if (r && call_of(l, event, r, stay.begin_ns, &in) &&
		   sleep_is_told(&in, &stay.wake)) {
		s->leave = in;
		s->visit_ns = in.visit_ns;
		s->visit_guess_ns = 0;
		stay_tell(l, &stay, turns, sink);
	} else {
		unseen_tell(l, &stay, turns, sink);
	}
}

void life_wait_end_unseen(struct life *l, u64 t, u64 visit_ns, const struct life_sink *sink)
{
	struct life_state *s = &l->state;

	if (!s->wake.has || s->wake.time_ns <= s->last_ns || s->wake.time_ns > t)
		return;
	t = s->wake.time_ns;
	if (visit_ns && visit_ns <= s->leave.time_ns) /* the visit continued after the loss */
		s->slept_from_ns = 0;
	life_wait_end(l, t, sink);
	s->last_ns = t;
}
