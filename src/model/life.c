/* SPDX-License-Identifier: Apache-2.0 */
#include "model/life.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- time and who owns it ---- */

static void spend(struct life *l, enum split_part part, u64 from_ns, u64 to_ns)
{
	u64 ns;

	if (from_ns < l->clip_from_ns)
		from_ns = l->clip_from_ns;
	if (l->clip_to_ns && to_ns > l->clip_to_ns)
		to_ns = l->clip_to_ns;
	if (from_ns >= to_ns)
		return;
	ns = to_ns - from_ns;
	l->total.ns[part] += (s64)ns;
	l->active.open.ns[part] += (s64)ns;
	l->seen.open.ns[part] += (s64)ns;
}

/* The visit to the kernel that began at begin_ns; its waits are kept if it is the one known. */
static void visit_enter(struct life_state *s, u64 begin_ns)
{
	bool same = s->visit_guess_ns ? begin_ns < s->visit_guess_ns : begin_ns == s->visit_ns;

	s->visit_guess_ns = 0;
	s->visit_ns = begin_ns;
	if (same)
		return;
	s->visit_waits = (struct split){0};
}

static void visit_leave(struct life_state *s)
{
	if (s->visit_ns || s->visit_guess_ns) {
		s->visit_ns = s->visit_guess_ns = 0;
		s->visit_waits = (struct split){0};
	}
}

/* A span or nobody was named the owner of the time until t. */
static void sight(struct life *l, const struct life_share *own, const struct life_sink *sink)
{
	struct life_book *b = &l->seen;
	struct life_share share = *own;

	if (!b->known) {
		b->known = true;
		b->first = own->ctx;
		b->first_ns = own->begin_ns;
		b->head = b->open;
		split_subtract(&b->head, &own->split);
	} else if (context_equal(&b->owner, &own->ctx)) {
		share.split = b->open;
	}
	if (!context_is_none(&own->ctx))
		sink->sighted(sink->arg, l, &share);
	b->owner = own->ctx;
	b->since_ns = own->end_ns;
	b->open = (struct split){0};
}

void life_active(struct life *l, const struct context *ctx, const struct life_sink *sink)
{
	struct life_book *b = &l->active;
	u64 now = l->state.last_ns;

	if (b->known) {
		struct life_share share = {
			.ctx = b->owner, .begin_ns = b->since_ns, .end_ns = now, .split = b->open};
		if (!context_is_none(&b->owner))
			sink->owned(sink->arg, l, &share);
	} else {
		b->known = true;
		b->first = *ctx;
		b->first_ns = now;
		b->head = b->open;
	}
	b->owner = *ctx;
	b->since_ns = now;
	b->open = (struct split){0};
}

/* ---- off the CPU ---- */

static bool leave_sleeps(u8 state)
{
	return state != LEAVE_preempted && state != LEAVE_throttled && state != LEAVE_dead;
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
	};

	*reason = "";
	if (v->state == LEAVE_preempted || v->fresh)
		return SPLIT_runnable;
	if (v->state == LEAVE_throttled)
		return SPLIT_throttled;
	return cause_find(&q, reason);
}

/* Accounts the stay off the CPU that ends at t and tells it. */
static void wait_end(struct life *l, u64 t, const struct life_sink *sink)
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
	u64 woken = t;

	w.part = wait_part(s, &w.reason);
	if (leave_sleeps(v->state) && !v->fresh && s->wake.has) {
		woken = s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
		if (woken > t)
			woken = t;
		w.woken_ns = s->wake.time_ns;
		w.wake_context = s->wake.context;
		w.waker_tid = s->wake.waker_tid;
	}
	w.split.ns[w.part] += (s64)(woken - s->last_ns);
	w.split.ns[SPLIT_runnable] += (s64)(t - woken);
	spend(l, w.part, s->last_ns, woken);
	spend(l, SPLIT_runnable, woken, t);
	if (s->visit_guess_ns)
		s->visit_guess_ns = t;
	if (s->visit_ns || s->visit_guess_ns)
		split_add(&s->visit_waits, &w.split);
	if (!v->fresh)
		sink->wait(sink->arg, l, &w);
}

/* It got the CPU, and nothing says how it had left it. */
static void unseen_end(struct life *l, u64 t)
{
	struct life_state *s = &l->state;
	u64 woken = t;

	if (s->place == LIFE_UNSEEN && s->wake.has && s->wake.time_ns < t)
		woken = s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
	spend(l, SPLIT_unknown, s->last_ns, woken);
	spend(l, SPLIT_runnable, woken, t);
	/* if a syscall that began earlier ends next, this was part of it */
	if (!s->visit_ns)
		s->visit_guess_ns = t;
	s->visit_waits.ns[SPLIT_unknown] += (s64)(woken - s->last_ns);
	s->visit_waits.ns[SPLIT_runnable] += (s64)(t - woken);
}

/* It got the CPU unseen: it was off the CPU until it was woken, at least. */
static void wait_end_unseen(struct life *l, u64 t, const struct life_sink *sink)
{
	struct life_state *s = &l->state;

	if (!s->wake.has || s->wake.time_ns <= s->last_ns || s->wake.time_ns > t)
		return;
	t = s->wake.time_ns;
	wait_end(l, t, sink);
	s->last_ns = t;
}

/*
 * Accounts [last, t] of a thread that left user mode at visit_ns (0: it did
 * not) and is at t at the end of a stretch on a CPU. If the beginning of the
 * stretch was lost, the time since the thread was woken is unknown. Returns
 * what was kernel time.
 */
static u64 spend_until(struct life *l, u64 t, u64 visit_ns, const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	u64 border;

	if (s->place == LIFE_OFF_CPU)
		wait_end_unseen(l, t, sink);
	border = visit_ns > s->last_ns ? visit_ns : s->last_ns;
	if (visit_ns == 0 || border > t)
		border = t;
	if (visit_ns)
		visit_enter(s, visit_ns);
	if (s->place == LIFE_OFF_CPU || s->place == LIFE_GONE) {
		spend(l, SPLIT_unknown, s->last_ns, t);
		s->visit_waits.ns[SPLIT_unknown] += (s64)(t - border);
		return 0;
	}
	spend(l, SPLIT_user, s->last_ns, border);
	spend(l, SPLIT_kernel, border, t);
	return t - border;
}

/* ---- one function per role: accounts up to the record, then takes its state ---- */

static void role_leaves(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_switch *sw = (const void *)r;
	struct life_state *s = &l->state;
	bool in_kernel = (sw->mode & MODE_MASK) != MODE_user;
	bool thread = (sw->mode & MODE_MASK) != MODE_kernel_thread;
	u64 t = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;
	u64 visit = in_kernel && thread && sw->since_ns ? r->time_ns - sw->since_ns : 0;
	struct life_share own = {.ctx = sw->ctx, .begin_ns = t, .end_ns = t};

	if (!thread) { /* a kernel thread is always in the kernel, and visits nothing */
		spend(l, s->place == LIFE_OFF_CPU ? SPLIT_unknown : SPLIT_kernel, s->last_ns, t);
	} else if (visit) {
		if (visit >= s->last_ns)
			own.begin_ns = visit;
		own.split.ns[SPLIT_kernel] = (s64)spend_until(l, t, visit, sink);
	} else {
		spend_until(l, t, 0, sink);
		visit_leave(s);
	}
	if (thread)
		sight(l, &own, sink);
	if (s->wake.has && (!leave_sleeps(sw->state) || s->wake.time_ns < visit))
		s->wake.has = false;
	s->place = sw->state == LEAVE_dead ? LIFE_GONE : LIFE_OFF_CPU;
	s->last_ns = t;
	s->leave = (struct life_leave){.time_ns = t,
				       .visit_ns = visit,
				       .arg0 = sw->arg0,
				       .nr = sw->nr,
				       .mode = sw->mode,
				       .state = sw->state,
				       .file = sw->file,
				       .ctx = sw->ctx};
}

static void role_enters(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	u64 t = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;

	if (s->place == LIFE_OFF_CPU)
		wait_end(l, t, sink);
	else
		unseen_end(l, t);
	s->wake.has = false;
	s->place = LIFE_ON_CPU;
	s->last_ns = t;
}

static void role_waking(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_waking *w = (const void *)r;
	struct life_state *s = &l->state;

	(void)sink;
	if (s->place == LIFE_OFF_CPU && (s->wake.has || !leave_sleeps(s->leave.state)))
		return;
	s->wake = (struct life_wake){.has = true,
				     .time_ns = r->time_ns,
				     .waker_tid = w->waker_tid,
				     .context = w->context,
				     .vector = w->vector,
				     .irq = w->irq,
				     .file = w->file};
}

/* The thread is in user code at t, whatever it did before. */
static void enter_user(struct life *l, u64 t)
{
	l->state.place = LIFE_ON_CPU;
	l->state.last_ns = t;
	l->state.wake.has = false;
	visit_leave(&l->state);
}

/* The split of a visit: its waits, what lies before the accounting, and the rest on the CPU. */
static void visit_split(const struct life *l, struct life_visit *v)
{
	s64 rest;

	v->split = l->state.visit_waits;
	if (v->begin_ns < l->origin_ns)
		v->split.ns[SPLIT_unknown] += (s64)(l->origin_ns - v->begin_ns);
	rest = (s64)(v->end_ns - v->begin_ns) - split_total(&v->split);
	for (int part = SPLIT_PARTS_COUNT - 1; rest < 0 && part >= 0; part--) {
		s64 cut = v->split.ns[part] < -rest ? v->split.ns[part] : -rest;

		v->split.ns[part] -= cut;
		rest += cut;
	}
	v->split.ns[SPLIT_kernel] += rest;
}

static void visit_end(struct life *l, struct life_visit *v, const struct context *ctx,
		      const struct life_sink *sink)
{
	struct life_share own = {.ctx = *ctx, .begin_ns = v->begin_ns, .end_ns = v->end_ns};

	spend_until(l, v->end_ns, v->begin_ns ? v->begin_ns : v->end_ns, sink);
	visit_split(l, v);
	own.split = v->split;
	sight(l, &own, sink);
	sink->visit(sink->arg, l, v);
	enter_user(l, v->end_ns);
}

static void role_syscall(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_syscall *c = (const void *)r;
	u64 t = r->time_ns > l->state.last_ns ? r->time_ns : l->state.last_ns;
	struct life_visit v = {.begin_ns = r->time_ns - c->duration_ns, .end_ns = t, .syscall = c};

	visit_end(l, &v, &c->ctx, sink);
}

static void role_fault(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_fault *f = (const void *)r;
	u64 t = r->time_ns > l->state.last_ns ? r->time_ns : l->state.last_ns;
	struct life_visit v = {.begin_ns = r->time_ns - f->duration_ns, .end_ns = t, .fault = f};

	if (f->flags & FAULT_USER) {
		visit_end(l, &v, &f->ctx, sink);
		return;
	}
	/* nested in a syscall: told, but the syscall's time goes on */
	v.end_ns = r->time_ns;
	v.split.ns[SPLIT_kernel] = (s64)f->duration_ns;
	sink->visit(sink->arg, l, &v);
}

static void role_user(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	u64 t = r->time_ns > l->state.last_ns ? r->time_ns : l->state.last_ns;

	spend_until(l, t, 0, sink);
	enter_user(l, t);
}

/* It left the scope: what it does from here on is not recorded, nor asked for. */
static void role_out(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	struct life_state *s = &l->state;
	u64 t = r->time_ns > s->last_ns ? r->time_ns : s->last_ns;

	if (s->place == LIFE_OFF_CPU)
		wait_end(l, t, sink);
	else if (s->place != LIFE_GONE)
		spend(l, SPLIT_unknown, s->last_ns, t);
	visit_leave(s);
	s->wake.has = false;
	s->place = LIFE_GONE;
	s->last_ns = t;
}

/* What /proc said counts only if no record says anything: it is not taken at one instant. */
static void role_snapshot(struct life *l, const struct record_head *r, const struct life_sink *sink)
{
	const struct record_thread *th = (const void *)r;
	struct life_state *s = &l->state;

	(void)sink;
	if (s->place != LIFE_UNSEEN || s->wake.has ||
	    (th->flags & (THREAD_ON_CPU | THREAD_UNFOLLOWED)))
		return;
	s->place = LIFE_OFF_CPU;
	if ((th->mode & MODE_MASK) == MODE_syscall)
		s->visit_guess_ns = s->last_ns + 1;
	s->leave = (struct life_leave){.time_ns = s->last_ns,
				       .arg0 = th->arg0,
				       .nr = th->nr,
				       .mode = th->mode,
				       .state = th->state,
				       .file = th->file,
				       .ctx = th->ctx};
}

typedef void role_fn(struct life *, const struct record_head *, const struct life_sink *);

static role_fn *const roles[] = {
	[LIFE_LEAVES] = role_leaves,	 [LIFE_ENTERS] = role_enters, [LIFE_WAKING] = role_waking,
	[LIFE_SYSCALL] = role_syscall,	 [LIFE_FAULT] = role_fault,   [LIFE_USER] = role_user,
	[LIFE_SNAPSHOT] = role_snapshot, [LIFE_OUT] = role_out,
};

/* ---- the head: records kept until one settles the life ---- */

struct head_entry {
	u32 bytes; /* of this entry, a multiple of 8 */
	u32 role;
};

static const size_t role_bytes[] = {
	[LIFE_LEAVES] = sizeof(struct record_switch),
	[LIFE_ENTERS] = sizeof(struct record_switch),
	[LIFE_WAKING] = sizeof(struct record_waking),
	[LIFE_SYSCALL] = sizeof(struct record_syscall),
	[LIFE_FAULT] = sizeof(struct record_fault),
	[LIFE_USER] = sizeof(struct record_head),
	[LIFE_SNAPSHOT] = sizeof(struct record_thread),
	[LIFE_OUT] = sizeof(struct record_cgroup_attach),
};

static int head_keep(struct life *l, enum life_role role, const struct record_head *r)
{
	size_t bytes = sizeof(struct head_entry) + ((role_bytes[role] + 7) & ~(size_t)7);
	struct head_entry entry = {.bytes = (u32)bytes, .role = role};

	if (l->head_bytes + bytes > l->head_space) {
		size_t space = (l->head_space ? l->head_space * 2 : 512) + bytes;
		u8 *head = realloc(l->head, space);

		if (!head)
			return -ENOMEM;
		l->head = head;
		l->head_space = space;
	}
	memcpy(l->head + l->head_bytes, &entry, sizeof(entry));
	memcpy(l->head + l->head_bytes + sizeof(entry), r, role_bytes[role]);
	l->head_bytes += bytes;
	return 0;
}

/*
 * Whether the state after this record follows from it and from the records in
 * the head. A sleep can have been preceded by its waking: where that could
 * lie to the left of the head, the record does not settle.
 */
static bool role_settles(const struct life *l, enum life_role role, const struct record_head *r)
{
	const struct record_switch *sw = (const void *)r;

	switch (role) {
	case LIFE_SYSCALL:
	case LIFE_USER:
	case LIFE_OUT:
		return true;
	case LIFE_FAULT:
		return ((const struct record_fault *)r)->flags & FAULT_USER;
	case LIFE_LEAVES:
		if ((sw->mode & MODE_MASK) == MODE_user ||
		    (sw->mode & MODE_MASK) == MODE_kernel_thread)
			return !leave_sleeps(sw->state) || l->state.place == LIFE_ON_CPU;
		return sw->since_ns && l->first_ns && r->time_ns - sw->since_ns >= l->first_ns;
	default:
		return false;
	}
}

/* Follows what a kept record does to the place and to a waking, without accounting. */
static void head_follow(struct life *l, enum life_role role, const struct record_head *r)
{
	static const struct life_sink nobody;

	if (role == LIFE_ENTERS) {
		l->state.place = LIFE_ON_CPU;
		l->state.wake.has = false;
	} else if (role == LIFE_LEAVES) {
		l->state.place = LIFE_OFF_CPU;
		l->state.wake.has = false;
		l->state.leave.state = ((const struct record_switch *)r)->state;
	} else if (role == LIFE_WAKING) {
		role_waking(l, r, &nobody);
	}
}

static void ignore_share(void *arg, const struct life *l, const struct life_share *share)
{
}

static void ignore_wait(void *arg, const struct life *l, const struct life_wait *wait)
{
}

static void ignore_visit(void *arg, const struct life *l, const struct life_visit *visit)
{
}

/* Takes the state after the record that settles the life, with nothing accounted. */
static void settle(struct life *l, enum life_role role, const struct record_head *r)
{
	static const struct life_sink nobody = {.wait = ignore_wait,
						.visit = ignore_visit,
						.owned = ignore_share,
						.sighted = ignore_share};
	struct life_wake wake = l->state.wake;

	l->state = (struct life_state){.place = LIFE_ON_CPU, .wake = wake};
	roles[role](l, r, &nobody);
	l->settled = true;
	l->total = (struct split){0};
	l->active = (struct life_book){0};
	/* what the settling record shows of the context holds from here on */
	l->seen.open = (struct split){0};
	l->seen.head = (struct split){0};
}

int life_feed(struct life *l, enum life_role role, const struct record_head *r,
	      const struct life_sink *sink)
{
	int err;

	if (r->pid && role != LIFE_ENTERS)
		l->pid = r->pid;
	if (!l->first_ns)
		l->first_ns = r->time_ns;
	l->last_ns = r->time_ns;
	if (l->settled) {
		roles[role](l, r, sink);
		return 0;
	}
	err = head_keep(l, role, r);
	if (err)
		return err;
	if (role_settles(l, role, r))
		settle(l, role, r);
	else
		head_follow(l, role, r);
	return 0;
}

/* ---- begin, join, finish ---- */

void life_init(struct life *l, u32 tid)
{
	*l = (struct life){.tid = tid, .left_tid = tid};
}

void life_init_born(struct life *l, u32 tid, u32 pid, u64 time_ns, u64 start_ns)
{
	life_init(l, tid);
	l->pid = pid;
	l->settled = l->born = true;
	l->start_ns = start_ns;
	l->first_ns = l->origin_ns = time_ns;
	l->state.place = LIFE_OFF_CPU;
	l->state.last_ns = time_ns;
	l->state.leave = (struct life_leave){.time_ns = time_ns, .fresh = true};
	l->active.known = l->seen.known = true;
	l->active.since_ns = l->seen.since_ns = time_ns;
}

void life_init_entered(struct life *l, u32 tid, u32 pid, u64 time_ns, u64 start_ns)
{
	life_init_born(l, tid, pid, time_ns, start_ns);
	l->state.place = LIFE_UNSEEN;
	l->state.leave = (struct life_leave){0};
}

void life_free(struct life *l)
{
	if (!l)
		return;
	free(l->head);
	l->head = NULL;
	l->head_bytes = l->head_space = 0;
}

static void book_join(struct life *left, struct life_book *a, const struct life_book *b,
		      void (*tell)(void *, const struct life *, const struct life_share *),
		      const struct life_sink *sink)
{
	bool active = a == &left->active;
	struct split between = a->open;

	if (!b->known) {
		split_add(&a->open, &b->open);
		return;
	}
	split_add(&between, &b->head);
	if (a->known) {
		struct life_share share = {.ctx = a->owner, .split = between};

		if (active) {
			share.begin_ns = a->since_ns;
			share.end_ns = b->first_ns;
		}
		if (!context_is_none(&a->owner) && (active || context_equal(&a->owner, &b->first)))
			tell(sink->arg, left, &share);
	} else {
		a->first = b->first;
		a->first_ns = b->first_ns;
		a->head = between;
	}
	a->known = true;
	a->owner = b->owner;
	a->since_ns = b->since_ns;
	a->open = b->open;
}

int life_join(struct life *left, struct life *right, const struct life_sink *sink)
{
	int err = 0;

	for (size_t at = 0; at < right->head_bytes && !err;) {
		struct head_entry entry;

		memcpy(&entry, right->head + at, sizeof(entry));
		err = life_feed(left, entry.role, (const void *)(right->head + at + sizeof(entry)),
				sink);
		at += entry.bytes;
	}
	if (err)
		return err;
	left->tid = right->tid;
	left->last_ns = right->last_ns;
	if (right->pid)
		left->pid = right->pid;
	if (right->start_ns)
		left->start_ns = right->start_ns;
	if (right->settled) {
		split_add(&left->total, &right->total);
		book_join(left, &left->active, &right->active, sink->owned, sink);
		book_join(left, &left->seen, &right->seen, sink->sighted, sink);
		left->state = right->state;
	}
	life_free(right);
	return 0;
}

int life_finish(struct life *l, u64 from_ns, u64 to_ns, const struct life_sink *sink)
{
	static const struct context nobody;
	struct life_state *s = &l->state;

	if (!l->born) {
		struct life whole;
		int err;

		life_init(&whole, l->left_tid);
		whole.pid = l->pid;
		whole.severed = l->severed;
		whole.clip_from_ns = l->clip_from_ns;
		whole.clip_to_ns = l->clip_to_ns;
		whole.settled = true;
		whole.origin_ns = whole.state.last_ns = from_ns;
		whole.active.known = whole.seen.known = true;
		err = life_join(&whole, l, sink);
		if (err)
			return err;
		*l = whole;
	}
	if (s->place == LIFE_OFF_CPU)
		wait_end(l, to_ns > s->last_ns ? to_ns : s->last_ns, sink);
	else if (s->place != LIFE_GONE && to_ns > s->last_ns)
		spend(l, SPLIT_unknown, s->last_ns, to_ns);
	if (s->place != LIFE_GONE && to_ns > s->last_ns)
		s->last_ns = to_ns;
	life_active(l, &nobody, sink); /* tells what the last owner had */
	return 0;
}
