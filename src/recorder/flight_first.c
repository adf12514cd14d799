/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/flight_first.h"

#include <string.h>

#include "model/cause.h"

/* ---- the first records ---- */

static int first_put(struct map *m, u32 tid, const struct record_head *r)
{
	const struct record_head *known = map_get(m, tid);

	if (!tid || (known && known->time_ns <= r->time_ns))
		return 0;
	return map_put(m, tid, (void *)r);
}

static int own_put(struct flight_first *f, const struct record_head *r)
{
	int err = first_put(&f->any, r->tid, r);

	return err ? err : first_put(&f->own, r->tid, r);
}

static int switch_put(struct flight_first *f, const struct record_switch *sw)
{
	int err = own_put(f, &sw->head);

	if (!err)
		err = first_put(&f->move, sw->head.tid, &sw->head);
	if (!err)
		err = first_put(&f->any, sw->next_tid, &sw->head);
	return err ? err : first_put(&f->move, sw->next_tid, &sw->head);
}

int flight_first_add(struct flight_first *f, const struct record_head *r)
{
	switch (r->kind) {
	case RECORD_waking:
		return first_put(&f->any, r->tid, r);
	case RECORD_switch:
		return switch_put(f, (const void *)r);
	case RECORD_syscall:
	case RECORD_fault:
		return own_put(f, r);
	default: /* other records come with one of these, or say nothing about the thread's state */
		return 0;
	}
}

void flight_first_free(struct flight_first *f)
{
	map_free(&f->any);
	map_free(&f->move);
	map_free(&f->own);
}

/* ---- the states at the begin of the chunk ---- */

/*
 * The waking that is the first record of a thread which slept at the begin; NULL if it did not, or
 * its waking was not seen.
 */
static const struct record_waking *first_waking(const struct flight_first *f, u32 tid)
{
	const struct record_head *first = map_get(&f->any, tid), *move = map_get(&f->move, tid);

	if (!first || first->kind != RECORD_waking || (move && move->tid == tid))
		return NULL; /* the next switch takes it off its CPU: it was woken before that */
	return (const void *)first;
}

/* Whether the cause of its sleep is known, be the sleep interruptible or not. */
static bool sleep_is_known(const struct record_thread *th, const struct record_waking *waking)
{
	struct cause_query q = {.mode = th->mode & MODE_MASK,
				.nr = th->nr,
				.abi_flags = th->mode & MODE_COMPAT ? SYSCALL_COMPAT : 0,
				.leave_state = LEAVE_sleep,
				.file = th->file,
				.arg0 = th->arg0,
				.has_waker = true,
				.waker_context = waking->context,
				.waker_vector = waking->vector,
				.waker_irq = waking->irq,
				.waker_file = waking->file,
				.waker_block = waking->block != 0};
	enum split_part part = cause_find(&q, NULL);

	q.leave_state = LEAVE_disk_sleep;
	return cause_find(&q, NULL) == part;
}

/* Takes the call from the first record of the thread's own, if it was in this call at from_ns. */
static bool call_take(struct record_thread *th, const struct record_head *own, u64 from_ns)
{
	union {
		struct record_syscall call;
		struct record_switch sw;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} r = {.slots = {0}}; /* slots that are missing at the end of a record read as zero */
	u64 since_ns;

	memcpy(&r, own, (size_t)own->slots * RECORD_SLOT_BYTES);
	if (own->kind == RECORD_syscall) {
		since_ns = r.call.duration_ns;
		th->mode = MODE_syscall | (r.call.flags & SYSCALL_COMPAT ? MODE_COMPAT : 0);
		th->nr = r.call.nr;
		th->arg0 = r.call.arg0;
		th->file = r.call.file;
	} else if (own->kind == RECORD_switch && (r.sw.mode & MODE_MASK) == MODE_syscall) {
		since_ns = r.sw.since_ns;
		th->mode = MODE_syscall | (r.sw.mode & MODE_COMPAT);
		th->nr = r.sw.nr;
		th->arg0 = r.sw.arg0;
		th->file = r.sw.file;
	} else {
		return false;
	}
	if (own->time_ns - from_ns > since_ns)
		return false;
	th->flags &= ~(THREAD_ON_CPU | THREAD_UNFOLLOWED);
	th->since_ns = th->head.time_ns - own->time_ns + since_ns;
	return true;
}

/* For a thread that slept at from_ns and was woken since: finds in what. False if unknown. */
static bool sleep_take(const struct flight_first *f, struct record_thread *th, u64 from_ns)
{
	const struct record_waking *waking = first_waking(f, th->head.tid);
	const struct record_head *own = map_get(&f->own, th->head.tid);
	bool in_kernel = (th->mode & MODE_MASK) == MODE_kernel_thread;

	if (!waking)
		return false;
	if (own && !in_kernel && !call_take(th, own, from_ns))
		return false;
	if (!own && !in_kernel && th->since_ns < th->head.time_ns - from_ns)
		return false;
	if (in_kernel) /* it slept then, whatever it does now */
		th->flags &= ~THREAD_ON_CPU;
	th->state = LEAVE_sleep;
	return sleep_is_known(th, waking);
}

/* For a thread without a record: its state did not change, unless it began after from_ns. */
static bool is_same(const struct record_thread *th, u64 from_ns)
{
	if (th->since_ns && th->since_ns < th->head.time_ns - from_ns)
		return false;
	/* a runnable thread may have been woken just now */
	return th->state != LEAVE_preempted && th->state != LEAVE_throttled;
}

void flight_first_state(const struct flight_first *f, struct record_thread *th, u64 from_ns)
{
	bool known = map_get(&f->any, th->head.tid) ? sleep_take(f, th, from_ns)
						    : is_same(th, from_ns);

	if (!known)
		th->flags |= THREAD_LATER;
}
