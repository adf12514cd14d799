// SPDX-License-Identifier: Apache-2.0
/*
 * The consumer's side of the rings (record/ring.h).
 *
 * Positions only grow. A ring is drained from its tail to a limit, its head as it was read once. A
 * slot that is reserved and not published ends the drain. If a record has several slots, the first
 * word of the later ones is cleared before they are given back: it came from the traced program and
 * could look like a sequence number.
 *
 * In the ring buffer `rare`, each record follows a header of length, flags and page offset.
 */
#include "capture/rings.h"

#include <errno.h>

#include <bpf/libbpf.h>

#include "base/host_clock.h"
#include "bpf/notice.h"
#include "capture/app/rings.h"
#include "capture/app/threads.h"
#include "capture/stack/stacks.h"
#include "capture/state.h"
#include "capture/watch.h"
#include "programs.skel.h"

#define AWAKE_NS 20000000u /* how long we poll often after news, such as a new process */
#define RING_BATCH 512	   /* slots are given back in batches of so many */
#define RING_AHEAD 16	   /* slots to prefetch: they are in the cache of another CPU */
#define RARE_BUSY (1u << 31)
#define RARE_DISCARD (1u << 30)
#define RARE_HEADER 8

/* Delivers a record, or holds it back if it is later than the cut. */
static int record_pass(struct capture *c, const struct drain *d,
		       const struct capture_stream *stream, const struct record_head *r)
{
	if (r->time_ns > d->until_ns)
		return held_add(&c->held, stream, r);
	return capture_deliver(d->to, stream, r);
}

/* ---- the rings of the CPUs ---- */

static void ring_give_back(struct capture_ring *ring, u64 tail)
{
	__atomic_store_n(&ring->control->tail, tail, __ATOMIC_RELEASE);
}

/* Drains up to position `limit`. 1: all; 0: a slot is not published yet; or a negative errno. */
static int ring_drain(struct capture *c, u32 cpu, u64 limit, const struct drain *d)
{
	struct capture_ring *ring = &c->rings[cpu];
	const struct capture_stream stream = {CAPTURE_STREAM_CPU, cpu};
	u64 mask = (1ull << c->ring_bits) - 1, tail = ring->control->tail, given = tail;
	int err = 0;

	while (tail < limit && !err) {
		u8 *slot = ring->slots + (tail & mask) * RECORD_SLOT_BYTES;
		struct record_head *r = (void *)slot;
		u32 n;

		if (__atomic_load_n(&r->seq, __ATOMIC_ACQUIRE) != (u32)(tail + 1))
			break;
		n = r->slots;
		if (n == 0 || n > limit - tail)
			return -EBADMSG;
		for (u32 i = 0; i < n; i++)
			__builtin_prefetch(slot + (RING_AHEAD + i) * RECORD_SLOT_BYTES);
		err = record_pass(c, d, &stream, r);
		for (u32 i = 1; i < n; i++)
			*(u32 *)(slot + i * RECORD_SLOT_BYTES) = 0;
		tail += n;
		if (tail - given >= RING_BATCH) {
			ring_give_back(ring, tail);
			given = tail;
		}
	}
	ring_give_back(ring, tail);
	if (err)
		return err;
	return tail >= limit;
}

u64 rings_head(const struct capture_ring *ring)
{
	return __atomic_load_n(&ring->control->head, __ATOMIC_ACQUIRE);
}

int rings_tell_lost(struct capture *c, u32 cpu, u64 polled_ns, const struct capture_sink *sink)
{
	struct capture_ring *ring = &c->rings[cpu];
	const struct capture_stream stream = {CAPTURE_STREAM_CPU, cpu};
	const struct ring_losses *losses = &c->losses[cpu];
	u64 all = __atomic_load_n(&losses->all, __ATOMIC_RELAXED);
	int err = 0;

	for (u16 kind = 0; kind < RING_KINDS && ring->lost_told != all && !err; kind++) {
		u64 count = __atomic_load_n(&losses->kinds[kind], __ATOMIC_RELAXED);
		struct record_lost lost = {.why = LOST_buffer, .lost_kind = kind};

		if (count == ring->lost[kind])
			continue;
		lost.head.kind = RECORD_lost;
		lost.head.slots = 1;
		lost.head.cpu = cpu;
		lost.head.time_ns = host_clock_now_ns();
		lost.count = count - ring->lost[kind];
		lost.begin_ns = ring->checked_ns;
		ring->lost[kind] = count;
		ring->lost_told += lost.count;
		c->counts.lost_buffer += lost.count;
		if (sink->lost)
			err = sink->lost(sink->arg, &stream, &lost);
	}
	ring->checked_ns = polled_ns;
	return err;
}

int rings_tell_around(struct capture *c, u32 cpu, u64 cut_ns, const struct capture_sink *sink)
{
	const struct capture_ring *ring = &c->rings[cpu];
	const struct capture_stream stream = {CAPTURE_STREAM_CPU, cpu};
	const struct ring_losses *losses = &c->losses[cpu];
	int err = 0;

	if (ring->lost_told == __atomic_load_n(&losses->all, __ATOMIC_ACQUIRE))
		return 0;
	for (u16 kind = 0; kind < RING_KINDS && !err; kind++) {
		struct record_lost lost = {
			.why = LOST_buffer, .lost_kind = kind, .begin_ns = ring->checked_ns};

		if (__atomic_load_n(&losses->kinds[kind], __ATOMIC_RELAXED) == ring->lost[kind])
			continue;
		lost.head.kind = RECORD_lost;
		lost.head.slots = 1;
		lost.head.cpu = cpu;
		lost.head.time_ns = cut_ns - 1;
		if (lost.begin_ns < lost.head.time_ns)
			err = sink->lost(sink->arg, &stream, &lost);
	}
	return err;
}

/* ---- the ring buffer of rare records ---- */

unsigned long rings_rare_head(const struct capture *c)
{
	return __atomic_load_n(c->rare.producer, __ATOMIC_ACQUIRE);
}

/* More news follows soon, as a rule. We poll often for a while, so that programs need not wake us.
 */
static void stay_awake(struct capture *c)
{
	c->awake_until_ns = host_clock_now_ns() + AWAKE_NS;
	__atomic_store_n(&c->programs->bss->awake_until_ns, c->awake_until_ns, __ATOMIC_RELAXED);
}

static bool is_news(const struct record_head *r)
{
	switch (r->kind) {
	case RECORD_fork:
		return !(((const struct record_fork *)r)->flags &
			 (THREAD_IS_THREAD | THREAD_KERNEL));
	case RECORD_cgroup_attach:
		return ((const struct record_cgroup_attach *)r)->flags &
		       (CGROUP_ENTERED_SCOPE | CGROUP_LEFT_SCOPE);
	case NOTICE_KIND:
		return r->slots != NOTICE_THREAD;
	default:
		return r->kind == RECORD_exec || r->kind == RECORD_mapping;
	}
}

/* Takes what is for capture itself: a notice, or a mapping to be completed. False: hand it over. */
static bool notice_take(struct capture *c, const struct record_head *r)
{
	if (r->kind == RECORD_mapping && c->stacks)
		return capture_stacks_mapping(c->stacks, r);
	if (r->kind != NOTICE_KIND)
		return false;
	if (r->slots == NOTICE_RING && c->apps)
		app_rings_sought(c->apps, (pid_t)r->pid, r->time_ns);
	if (r->slots != NOTICE_THREAD)
		capture_watch_notice(c->watch, r);
	else if (c->apps)
		app_rings_thread(c->apps, &(struct app_thread){r->pid, r->seq, r->tid, r->time_ns});
	return true;
}

static int rare_drain(struct capture *c, unsigned long limit, const struct drain *d)
{
	static const struct capture_stream stream = {CAPTURE_STREAM_LIFE, 0};
	struct capture_rare *rare = &c->rare;
	unsigned long at = *rare->consumer;
	int err = 0;

	while (at < limit && !err) {
		const u8 *entry = rare->data + (at & (rare->size - 1));
		u32 length = __atomic_load_n((const u32 *)entry, __ATOMIC_ACQUIRE);
		const struct record_head *r;

		if (length & RARE_BUSY)
			break;
		r = (const void *)(entry + RARE_HEADER);
		if (!(length & RARE_DISCARD)) {
			if (is_news(r))
				stay_awake(c);
			if (!notice_take(c, r))
				err = record_pass(c, d, &stream, r);
		}
		length &= ~(RARE_BUSY | RARE_DISCARD);
		at += (length + RARE_HEADER + 7) / 8 * 8;
		__atomic_store_n(rare->consumer, at, __ATOMIC_RELEASE);
	}
	if (err)
		return err;
	return at >= limit;
}

/* ---- drains with marks ---- */

int rings_drain_cpu(struct capture *c, u32 cpu, u64 head, u64 now_ns, const struct drain *d)
{
	struct capture_ring *ring = &c->rings[cpu];
	int there = ring_drain(c, cpu, head, d);

	ring_mark_set(&ring->mark, ring->control->tail, head, now_ns);
	return there;
}

int rings_drain_rare(struct capture *c, unsigned long head, u64 now_ns, const struct drain *d)
{
	int there = rare_drain(c, head, d);

	ring_mark_set(&c->rare.mark, *c->rare.consumer, head, now_ns);
	return there;
}
