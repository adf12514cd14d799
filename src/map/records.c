/* SPDX-License-Identifier: Apache-2.0 */
/* Applies each kind of record to a partial. */
#include "map/records.h"

#include <errno.h>
#include <stdlib.h>

#include "map/kernel/blocks.h"
#include "map/kernel/urings.h"
#include "map/losses.h"
#include "map/meters.h"

static void life_place(struct partial *p, struct life *l)
{
	l->clip_from_ns = p->options.from_ns;
	l->clip_to_ns = p->options.to_ns;
	l->losses_before = l->losses_seen = p->losses_told = (u32)p->losses.count;
}

/* Adds a life. 0 with *added NULL: there are as many as there may be, and it is left out. */
static int life_add(struct partial *p, u32 tid, struct life **added)
{
	struct life *l;

	*added = NULL;
	if (partial_is_full(p)) {
		p->left_out++;
		return 0;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	life_init(l, tid);
	l->severed = p->gaps.count > 0 || map_get(&p->taken, tid);
	life_place(p, l);
	if (vec_push(&p->lives, l)) {
		free(l);
		return -ENOMEM;
	}
	*added = l;
	return map_put(&p->current, tid, l);
}

/* The life that has the number, made if there is none; 0 with NULL likewise. */
static int life_of(struct partial *p, u32 tid, struct life **found)
{
	*found = map_get(&p->current, tid);
	return __builtin_expect(*found != NULL, 1) ? 0 : life_add(p, tid, found);
}

/* Tells a life of what it may have missed before its record of that time. */
static int tell_missed(struct partial *p, struct life *l, u64 time_ns)
{
	int err = 0;

	if (l->losses_seen < p->losses.count)
		err = partial_tell_losses(p, l, p->losses.count, UINT64_MAX);
	if (__builtin_expect(p->holes.count, 0) && !err)
		err = partial_tell_holes(p, l, time_ns);
	return err;
}

/* The life is told one record more. */
static void partial_told(struct partial *p, struct life *l)
{
	l->told++;
	p->fed++;
}

static int feed(struct partial *p, u32 tid, enum life_event event, const struct record_head *r)
{
	struct life *l;
	int err = life_of(p, tid, &l);

	if (err || !l)
		return err;
	partial_told(p, l);
	err = tell_missed(p, l, r->time_ns);
	err = err ? err : life_feed(l, event, r, &p->sink);
	if (p->options.meters)
		meters_attach(p->options.meters, l);
	return err;
}

static int switch_apply(struct partial *p, const struct record_head *r)
{
	const struct record_switch *sw = (const void *)r;
	struct record_switch enters;
	u8 state = sw->state & LEAVE_MASK;
	int err = 0;

	if (state == LEAVE_running)
		return feed(p, r->tid, LIFE_RUNS, r);
	if (state == LEAVE_untold) {
		err = feed(p, r->tid, LIFE_RUNS, r);
	} else if (r->tid && !(sw->mode & MODE_PREV_OUT)) {
		err = feed(p, r->tid, LIFE_LEAVES, r);
		if (state == LEAVE_dead)
			map_remove(&p->current, r->tid);
	}
	err = err ? err : cpu_turns_switch(p, sw, &enters);
	if (!err && sw->next_tid && !(sw->mode & MODE_NEXT_OUT))
		err = feed(p, sw->next_tid, LIFE_ENTERS, &enters.head);
	return err;
}

/* A life with the same number that is still there ended unseen. */
static int fork_apply(struct partial *p, const struct record_head *r)
{
	const struct record_fork *f = (const void *)r;
	struct life *l;
	int err;

	map_remove(&p->current, r->tid);
	err = life_add(p, r->tid, &l);
	if (l) {
		life_init_born(l, r->tid, r->pid, r->time_ns, f->start_ns);
		partial_told(p, l);
		life_place(p, l);
		if (p->options.meters)
			meters_attach(p->options.meters, l);
	}
	return err ? err : facts_add(&p->facts, r);
}

/* A thread came into the scope: its time before that is no part of the recording. */
static int enter_apply(struct partial *p, const struct record_head *r, u64 start_ns)
{
	struct life *l;
	int err;

	map_remove(&p->current, r->tid);
	err = life_add(p, r->tid, &l);
	if (l) {
		life_init_entered(l, r->tid, r->pid, r->time_ns, start_ns);
		life_place(p, l);
		if (p->options.meters)
			meters_attach(p->options.meters, l);
	}
	return err;
}

/* Another thread than the leader called exec: it takes the leader's number. */
static int exec_rename(struct partial *p, const struct record_head *r, u32 old_tid, u64 start_ns)
{
	struct life *l = map_remove(&p->current, old_tid);

	map_remove(&p->current, r->tid);
	if (l) {
		l->tid = r->tid;
		l->renamed_ns = r->time_ns;
		if (start_ns)
			l->start_ns = start_ns;
		if (map_put(&p->current, r->tid, l))
			return -ENOMEM;
	}
	return map_put(&p->taken, r->tid, PRESENT);
}

static int exec_apply(struct partial *p, const struct record_head *r)
{
	const struct record_exec *e = (const void *)r;
	struct record_head before = *r;
	int err;

	if (e->flags & EXEC_BEGINS) {
		err = enter_apply(p, r, e->start_ns);
		return err ? err : facts_add(&p->facts, r);
	}
	if (e->old_tid)
		before.tid = e->old_tid;
	err = feed(p, before.tid, LIFE_EXECS, &before);
	if (!err && before.tid != r->tid)
		err = exec_rename(p, r, before.tid, e->start_ns);
	return err ? err : facts_add(&p->facts, r);
}

/* A record of an application: the thread is or was in user code, and may change its span. */
static int span_apply_as(struct partial *p, const struct record_head *r, enum life_event event,
			 u64 time_ns)
{
	static const struct context none;
	struct record_head at = *r;
	struct context active;
	bool changes = true;
	struct life *l;
	int err;

	at.time_ns = time_ns;
	err = feed(p, r->tid, event, &at);
	if (err)
		return err;
	switch (r->kind) {
	case RECORD_span_begin:
		active = ((const struct record_span_begin *)r)->ctx;
		changes = ((const struct record_span_begin *)r)->flags & 1;
		break;
	case RECORD_span_end:
		active = ((const struct record_span_end *)r)->next;
		changes = ((const struct record_span_end *)r)->flags & 1;
		break;
	case RECORD_span_attach:
		active = ((const struct record_span_attach *)r)->ctx;
		break;
	case RECORD_span_detach:
		active = none;
		break;
	default:
		changes = false;
	}
	l = map_get(&p->current, r->tid);
	/* a life that is not settled keeps it, as it keeps the record */
	if (changes && l && (event == LIFE_EARLIER || !l->settled))
		err = life_feed(l, LIFE_NAMES,
				&(struct record_span_attach){.head = at, .ctx = active}.head,
				&p->sink);
	else if (changes && l)
		life_active(l, &active, &p->sink);
	return err ? err : spans_add(p, r);
}

static int span_apply(struct partial *p, const struct record_head *r)
{
	return span_apply_as(p, r, LIFE_USER, r->time_ns);
}

static int thread_apply(struct partial *p, const struct record_head *r)
{
	const struct record_thread *th = (const void *)r;
	int err = th->flags & THREAD_ENTERS ? enter_apply(p, r, th->start_ns) : 0;
	struct life *l;

	if (!err)
		err = feed(p, r->tid, LIFE_SNAPSHOT, r);
	if (err)
		return err;
	l = map_get(&p->current, r->tid);
	if (l)
		l->start_ns = th->start_ns;
	return facts_add(&p->facts, r);
}

static int waking_apply(struct partial *p, const struct record_head *r)
{
	return feed(p, r->tid, LIFE_WAKING, r);
}

static int syscall_apply(struct partial *p, const struct record_head *r)
{
	const struct record_syscall *call = (const void *)r;
	int err = feed(p, r->tid, LIFE_SYSCALL, r);

	if (!err)
		call_details_late(&p->details, r->tid, r->time_ns - call->duration_ns);
	return err;
}

static int exit_apply(struct partial *p, const struct record_head *r)
{
	struct life *l;
	int err = life_of(p, r->tid, &l);

	if (err || !l)
		return err;
	partial_told(p, l);
	err = tell_missed(p, l, r->time_ns);
	if (!err)
		life_exits(l, (const void *)r);
	return err;
}

static int fault_apply(struct partial *p, const struct record_head *r)
{
	return feed(p, r->tid, LIFE_FAULT, r);
}

/* The life ends with the scope; should the thread come back, another life begins. */
static int attach_apply(struct partial *p, const struct record_head *r)
{
	u32 flags = ((const struct record_cgroup_attach *)r)->flags;
	int err = facts_add(&p->facts, r);

	if (err)
		return err;
	if (flags & CGROUP_ENTERED_SCOPE)
		return enter_apply(p, r, 0);
	if (!(flags & CGROUP_LEFT_SCOPE))
		return 0;
	err = feed(p, r->tid, LIFE_OUT, r);
	map_remove(&p->current, r->tid);
	return err;
}

/* Details of calls are of use only where calls are kept. */
static int detail_apply(struct partial *p, const struct record_head *r)
{
	return p->options.spans ? facts_add(&p->facts, r) : 0;
}

/* And these where calls are counted. */
static int named_apply(struct partial *p, const struct record_head *r)
{
	int err = call_details_add(p, r);

	return err ? err : detail_apply(p, r);
}

/* A stack from before the instant of a checkpoint can explain waits behind it. */
static int stack_apply(struct partial *p, const struct record_head *r)
{
	int err = samples_add_stack(p, r);

	if (err || (!p->options.spans && !p->options.state_only))
		return err;
	return facts_add(&p->facts, r);
}

/* A late record is of the recorder of its chunk, and counts from the begin of that. */
static int filter_apply(struct partial *p, const struct record_head *r)
{
	u32 flags = ((const struct record_filter *)r)->flags;
	struct filter_told told = {.time_ns = r->time_ns < p->begin_ns ? p->begin_ns : r->time_ns,
				   .flags = flags & ~(u32)(FILTER_FOLLOWS | FILTER_AGAIN)};
	int err = flags & FILTER_TURNS ? 0 : vec_push(&p->filters_told, told);

	return err ? err : facts_add(&p->facts, r);
}

/* Counts the part of the time that lies in the range: it is taken as spread evenly. */
static int steal_apply(struct partial *p, const struct record_head *r)
{
	const struct record_steal *s = (const void *)r;
	u64 from = s->begin_ns, to = r->time_ns;

	if (p->cpus <= s->of_cpu)
		p->cpus = s->of_cpu + 1;
	if (p->options.from_ns && from < p->options.from_ns)
		from = p->options.from_ns;
	if (p->options.to_ns && to > p->options.to_ns)
		to = p->options.to_ns;
	if (from < to)
		p->steal_ns += (u64)((unsigned __int128)s->steal_ns * (to - from) /
				     (r->time_ns - s->begin_ns));
	return 0;
}

static int fact_apply(struct partial *p, const struct record_head *r)
{
	return facts_add(&p->facts, r);
}

/* No life goes on through a gap. */
static int gap_apply(struct partial *p, const struct record_head *r)
{
	struct record_gap gap = *(const struct record_gap *)r;

	if (gap.begin_ns > r->time_ns)
		gap.begin_ns = r->time_ns;
	map_free(&p->current);
	cpu_turns_part(&p->turns);
	return vec_push(&p->gaps, gap);
}

typedef int apply_fn(struct partial *, const struct record_head *);

static apply_fn *const apply[RECORD_KIND_MAX + 1] = {
	[RECORD_switch] = switch_apply,
	[RECORD_waking] = waking_apply,
	[RECORD_syscall] = syscall_apply,
	[RECORD_fault] = fault_apply,
	[RECORD_fork] = fork_apply,
	[RECORD_exec] = exec_apply,
	[RECORD_exit] = exit_apply,
	[RECORD_thread] = thread_apply,
	[RECORD_name] = fact_apply,
	[RECORD_process] = fact_apply,
	[RECORD_fd] = fact_apply,
	[RECORD_socket] = fact_apply,
	[RECORD_service] = fact_apply,
	[RECORD_clock] = fact_apply,
	[RECORD_lost] = losses_add,
	[RECORD_gap] = gap_apply,
	[RECORD_device] = fact_apply,
	[RECORD_cgroup] = fact_apply,
	[RECORD_cgroup_attach] = attach_apply,
	[RECORD_filter] = filter_apply,
	[RECORD_path] = named_apply,
	[RECORD_peer] = named_apply,
	[RECORD_bytes] = detail_apply,
	[RECORD_uring] = urings_add,
	[RECORD_block] = blocks_add,
	[RECORD_stack] = stack_apply,
	[RECORD_mapping] = fact_apply,
	[RECORD_sample] = samples_add,
	[RECORD_steal] = steal_apply,
	[RECORD_event] = events_add,
	[RECORD_format] = events_add,
	[RECORD_span_begin] = span_apply,
	[RECORD_span_end] = span_apply,
	[RECORD_span_attach] = span_apply,
	[RECORD_span_detach] = span_apply,
	[RECORD_span_event] = span_apply,
	[RECORD_span_attribute] = span_apply,
	[RECORD_cost] = costs_add,
	[RECORD_step] = fact_apply,
};

bool record_is_of_span(const struct record_head *r)
{
	return r->kind <= RECORD_KIND_MAX && apply[r->kind] == span_apply;
}

int partial_apply_outside(struct partial *p, const struct record_head *r, u64 from_ns)
{
	switch (r->kind) {
	case RECORD_switch:
	case RECORD_waking:
	case RECORD_syscall:
	case RECORD_fault:
	case RECORD_exit:
		return 0;
	case RECORD_fork:
	case RECORD_exec:
	case RECORD_thread:
	case RECORD_cgroup_attach:
		return facts_add(&p->facts, r);
	default:
		if (!record_is_of_span(r))
			return partial_apply_now(p, r);
		return span_apply_as(p, r, LIFE_EARLIER,
				     r->time_ns < from_ns ? from_ns : r->time_ns);
	}
}

int partial_apply_now(struct partial *p, const struct record_head *r)
{
	int err;

	if (r->kind > RECORD_KIND_MAX || !apply[r->kind])
		return 0;
	err = apply[r->kind](p, r);
	if (!err && p->options.hits)
		err = hits_add(p, r);
	return err ? err : p->err;
}
