/* SPDX-License-Identifier: Apache-2.0 */
/* Feeding, joining and finishing a life. */
#include "model/life_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the head: records kept until one settles the life ---- */

static const size_t event_bytes[] = {
	[LIFE_LEAVES] = sizeof(struct record_switch),
	[LIFE_ENTERS] = sizeof(struct record_switch),
	[LIFE_WAKING] = sizeof(struct record_waking),
	[LIFE_SYSCALL] = sizeof(struct record_syscall),
	[LIFE_FAULT] = sizeof(struct record_fault),
	[LIFE_USER] = sizeof(struct record_head),
	[LIFE_SNAPSHOT] = sizeof(struct record_thread),
	[LIFE_OUT] = sizeof(struct record_cgroup_attach),
	[LIFE_LOST] = sizeof(struct record_lost),
	[LIFE_EARLIER] = sizeof(struct record_head),
	[LIFE_EXECS] = sizeof(struct record_head),
	[LIFE_RUNS] = sizeof(struct record_switch),
	[LIFE_NAMES] = sizeof(struct record_span_attach),
};

#define FIELDS_END(type, last) (offsetof(struct type, last) + sizeof(((struct type *)NULL)->last))

/* The bytes of a record without the padding after its last field, which may have any value. */
static size_t event_fields_bytes(enum life_event event)
{
	switch (event) {
	case LIFE_LOST:
		return FIELDS_END(record_lost, begin_ns);
	case LIFE_SNAPSHOT:
		return FIELDS_END(record_thread, comm);
	default:
		return event_bytes[event];
	}
}

static int head_keep(struct life *l, enum life_event event, const struct record_head *r)
{
	size_t bytes = sizeof(struct head_entry) + ((event_bytes[event] + 7) & ~(size_t)7);
	struct head_entry entry = {.bytes = (u32)bytes, .event = event};

	if (l->head_bytes + bytes > l->head_space) {
		size_t space = l->head_space ? l->head_space * 2 + bytes : bytes;
		u8 *head = realloc(l->head, space);

		if (!head)
			return -ENOMEM;
		l->head = head;
		l->head_space = space;
	}
	memcpy(l->head + l->head_bytes, &entry, sizeof(entry));
	memset(l->head + l->head_bytes + sizeof(entry), 0, bytes - sizeof(entry));
	memcpy(l->head + l->head_bytes + sizeof(entry), r, event_fields_bytes(event));
	l->head_bytes += bytes;
	return 0;
}

bool life_head_valid(const struct life *l)
{
	for (size_t at = 0; at < l->head_bytes;) {
		struct head_entry entry;
		struct record_head r;

		if (l->head_bytes - at < sizeof(entry))
			return false;
		memcpy(&entry, l->head + at, sizeof(entry));
		if (entry.event > LIFE_NAMES || entry.bytes > l->head_bytes - at ||
		    entry.bytes != sizeof(entry) + ((event_bytes[entry.event] + 7) & ~(size_t)7))
			return false;
		memcpy(&r, l->head + at + sizeof(entry), sizeof(r));
		if (r.time_ns > RECORD_TIME_END_NS)
			return false;
		at += entry.bytes;
	}
	return true;
}

/*
 * Whether this record and the records in the head determine the state after it. The waking of a
 * sleep can precede the sleep. If it could be to the left of the head, the record does not settle
 * the life.
 */
static bool event_settles(const struct life *l, enum life_event event, const struct record_head *r)
{
	const struct record_switch *sw = (const void *)r;

	switch (event) {
	case LIFE_SYSCALL:
	case LIFE_OUT:
		return true;
	case LIFE_USER: /* else the time behind it is user code, or calls, too */
		return l->state.calls != LIFE_CALLS_OPEN;
	case LIFE_FAULT:
		return ((const struct record_fault *)r)->flags & FAULT_USER;
	case LIFE_LEAVES:
	case LIFE_RUNS:
		/* without calls no visit is followed, so none can begin to the left */
		if ((sw->mode & MODE_MASK) == MODE_user ||
		    (sw->mode & MODE_MASK) == MODE_kernel_thread ||
		    (!sw->since_ns && !(sw->mode & MODE_IN_SYSCALL)))
			return event == LIFE_RUNS || !life_leave_sleeps(sw->state & LEAVE_MASK) ||
			       l->state.place == LIFE_ON_CPU;
		/* no part of the visit so far is to the left of the head, or was missed */
		return sw->since_ns && !l->doubted && l->state.place == LIFE_ON_CPU &&
		       life_ago(r->time_ns, sw->since_ns) >= l->state.last_ns;
	default:
		return false;
	}
}

/* Updates the place and the waking by a kept record, without accounting. */
static void head_follow(struct life *l, enum life_event event, const struct record_head *r)
{
	static const struct life_sink nobody;

	if (event == LIFE_ENTERS) {
		l->state.place = LIFE_ON_CPU;
		l->state.last_ns = r->time_ns;
		l->state.wake.has = false;
		l->state.calls = life_calls_entering((const struct record_switch *)r);
		l->doubted = false;
	} else if (event == LIFE_LEAVES) {
		l->state.place = LIFE_OFF_CPU;
		l->state.wake.has = false;
		l->state.calls = life_calls_behind((const struct record_switch *)r);
		l->state.leave.state = ((const struct record_switch *)r)->state & LEAVE_MASK;
	} else if (event == LIFE_WAKING) {
		life_apply(l, LIFE_WAKING, r, &nobody);
	} else if (event == LIFE_RUNS) {
		life_runs_wake(l, (const void *)r);
		l->state.calls = life_calls_behind((const struct record_switch *)r);
	} else if (event == LIFE_USER) {
		l->state.place = LIFE_ON_CPU;
		l->state.last_ns = r->time_ns;
		l->state.wake.has = false;
		l->doubted = false;
	} else if (event == LIFE_EARLIER && l->state.place != LIFE_OFF_CPU) {
		l->state.place = LIFE_UNSEEN;
		l->state.wake.has = false;
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

/* Sets the state after the record that settles the life, with nothing accounted. */
static void settle(struct life *l, enum life_event event, const struct record_head *r)
{
	static const struct life_sink nobody = {.wait = ignore_wait,
						.visit = ignore_visit,
						.owned = ignore_share,
						.sighted = ignore_share};
	struct life_wake wake = l->state.wake;
	struct meter *meter = l->meter;
	u8 calls = l->state.calls;

	l->state = (struct life_state){.place = LIFE_ON_CPU, .wake = wake, .calls = calls};
	l->meter = NULL;
	life_apply(l, event, r, &nobody);
	l->meter = meter;
	l->settled = true;
	l->total = (struct split){0};
	l->active = (struct life_ledger){0};
	l->idle = (struct life_idle){0};
	/* the context in the settling record is valid from here on */
	l->seen.open = (struct split){0};
	l->seen.head = (struct split){0};
}

int life_feed(struct life *l, enum life_event event, const struct record_head *r,
	      const struct life_sink *sink)
{
	int err;

	if (event == LIFE_LOST) { /* it is no record of the thread, but leaves its state in doubt */
		if (l->settled)
			life_apply(l, event, r, sink);
		l->doubted = !l->settled;
		return l->settled ? 0 : head_keep(l, event, r);
	}
	/* kept records, too, can be from before an exec that changed the tid */
	l->tid = event == LIFE_ENTERS ? ((const struct record_switch *)r)->next_tid : r->tid;
	if (r->pid && event != LIFE_ENTERS)
		l->pid = r->pid;
	if (!l->first_ns)
		l->first_ns = r->time_ns;
	l->last_ns = r->time_ns;
	if (l->settled) {
		life_apply(l, event, r, sink);
		return 0;
	}
	err = head_keep(l, event, r);
	if (err)
		return err;
	if (event_settles(l, event, r))
		settle(l, event, r);
	else
		head_follow(l, event, r);
	return 0;
}

/* An exit record does not say where the thread is, so it is not kept in the head. */
void life_exits(struct life *l, const struct record_exit *r)
{
	l->tid = r->head.tid;
	if (r->head.pid)
		l->pid = r->head.pid;
	if (!l->first_ns)
		l->first_ns = r->head.time_ns;
	l->last_ns = l->exit_ns = r->head.time_ns;
	l->exit_code = r->code;
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
	l->first_ns = l->last_ns = l->origin_ns = time_ns;
	l->state.place = LIFE_OFF_CPU;
	l->state.last_ns = time_ns;
	l->state.leave = (struct life_leave){.time_ns = time_ns, .fresh = true};
	l->active.known = l->seen.known = true;
	l->active.since_ns = l->seen.since_ns = time_ns;
}

void life_init_entered(struct life *l, u32 tid, u32 pid, u64 time_ns, u64 start_ns)
{
	life_init_born(l, tid, pid, time_ns, start_ns);
	l->entered = true;
	l->state.place = LIFE_UNSEEN;
	l->state.leave = (struct life_leave){0};
	l->active.known = false; /* the thread may have had a span already */
}

void life_free(struct life *l)
{
	if (!l)
		return;
	free(l->head);
	l->head = NULL;
	l->head_bytes = l->head_space = 0;
}

int life_join(struct life *left, struct life *right, const struct life_sink *sink)
{
	int err = 0;

	for (size_t at = 0; at < right->head_bytes && !err;) {
		struct head_entry entry;

		memcpy(&entry, right->head + at, sizeof(entry));
		err = life_feed(left, entry.event, (const void *)(right->head + at + sizeof(entry)),
				sink);
		at += entry.bytes;
	}
	if (err)
		return err;
	left->tid = right->tid;
	if (right->renamed_ns)
		left->renamed_ns = right->renamed_ns;
	left->last_ns = right->last_ns;
	if (right->pid)
		left->pid = right->pid;
	if (right->start_ns)
		left->start_ns = right->start_ns;
	if (right->exit_ns) {
		left->exit_ns = right->exit_ns;
		left->exit_code = right->exit_code;
	}
	if (right->settled) {
		split_add(&left->total, &right->total);
		life_active_join(left, right, sink);
		life_ledger_join(left, &left->seen, &right->seen, sink->sighted, sink);
		left->state = right->state;
	}
	life_free(right);
	return 0;
}

void life_unknown(struct life *l, u64 from_ns, u64 to_ns)
{
	life_spend(l, SPLIT_unknown, from_ns, to_ns);
}

void life_init_left_of(struct life *left, const struct life *l)
{
	life_init(left, l->left_tid);
	left->pid = l->pid;
	left->severed = l->severed;
	left->meter = l->meter;
	left->clip_from_ns = l->clip_from_ns;
	left->clip_to_ns = l->clip_to_ns;
	left->first_ns = l->first_ns;
	left->losses_before = l->losses_before;
	left->losses_seen = l->losses_seen;
	left->told = l->told;
}

/* Joins it to a left half of which only its existence since from_ns is known. 0 or -ENOMEM. */
static int life_make_whole(struct life *l, u64 from_ns, const struct life_sink *sink)
{
	struct life whole;
	int err;

	life_init_left_of(&whole, l);
	whole.settled = true;
	whole.origin_ns = whole.state.last_ns = from_ns;
	whole.state.calls = l->begin_calls;
	whole.seen.known = true; /* a later sighting may show the active span */
	err = life_join(&whole, l, sink);
	if (!err)
		*l = whole;
	return err;
}

int life_anchor(struct life *l, u64 from_ns, const struct life_sink *sink)
{
	return l->origin_ns ? 0 : life_make_whole(l, from_ns, sink);
}

int life_finish(struct life *l, u64 from_ns, u64 to_ns, const struct life_sink *sink)
{
	static const struct context nobody;
	int err = l->born ? 0 : life_make_whole(l, from_ns, sink);

	if (err)
		return err;
	life_account(l, to_ns, sink);
	life_exec_end(l, sink);
	life_unnamed_tell(l, sink);
	life_active(l, &nobody, sink); /* reports the share of the last owner */
	return 0;
}
