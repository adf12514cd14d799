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
	default: /* none without one of these, or not of what the thread itself does */
		return 0;
	}
}

void flight_first_free(struct flight_first *f)
{
	map_free(&f->any);
	map_free(&f->move);
	map_free(&f->own);
}

/* ---- what they tell ---- */

/* The waking with which a thread begins that slept at first; NULL: it did not, or none is told. */
static const struct record_waking *first_waking(const struct flight_first *f, u32 tid)
{
	const struct record_head *first = map_get(&f->any, tid), *move = map_get(&f->move, tid);

	if (!first || first->kind != RECORD_waking || (move && move->tid == tid))
		return NULL; /* or it was woken before it had left its CPU */
	return (const void *)first;
}

/* Is it known why it slept, although not whether it could have been disturbed? */
static bool sleep_is_told(const struct record_thread *th, const struct record_waking *waking)
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

/* Takes the call from the record that was the thread's own first, if it was in that at from_ns. */
static bool call_take(struct record_thread *th, const struct record_head *own, u64 from_ns)
{
	union {
		struct record_syscall call;
		struct record_switch sw;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} r = {.slots = {0}}; /* what is zero at the end of a record is not there */
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

/* Of a thread that was asleep at from_ns, and woken since: whether it is told in what. */
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
	if (in_kernel) /* whatever it does */
		th->flags &= ~THREAD_ON_CPU;
	th->state = LEAVE_sleep;
	return sleep_is_told(th, waking);
}

/* It has no record: it did the same all the time, unless it began only after the chunk. */
static bool is_same(const struct record_thread *th, u64 from_ns)
{
	if (th->since_ns && th->since_ns < th->head.time_ns - from_ns)
		return false;
	/* it can have been woken just now */
	return th->state != LEAVE_preempted && th->state != LEAVE_throttled;
}

void flight_first_tell(const struct flight_first *f, struct record_thread *th, u64 from_ns)
{
	bool told = map_get(&f->any, th->head.tid) ? sleep_take(f, th, from_ns)
						   : is_same(th, from_ns);

	if (!told)
		th->flags |= THREAD_LATER;
}
