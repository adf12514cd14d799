/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The producer's side of the rings.
 *
 * Frequent records go through the slots of the CPU (record/ring.h):
 *
 *	struct ring_place place;
 *
 *	if (ring_reserve(&place, slots, RECORD_switch))
 *		return 0;	(the loss is counted)
 *	r.head.time_ns = bpf_ktime_get_ns();
 *	...
 *	ring_publish(&place, &r, slots);
 *
 * Rare or long records go through the ring buffer `rare`, in the same layout.
 */
#ifndef BPF_RING_H
#define BPF_RING_H

#include "bpf/kernel.h"
#include "record/ring.h"

/* Set by capture before the programs are loaded. */
const volatile u32 ring_bits __weak = 10;	    /* slots of a CPU: 1 << ring_bits */
const volatile bool ring_overwrites __weak = false; /* flight recorder */
/* So many slots, a power of two, wake capture each time that they are filled. */
const volatile u64 ring_part __weak = 0;

/* Capture polls each millisecond until then. It sets this after news of processes. */
u64 awake_until_ns __weak = 0;
u64 rare_part __weak = 0; /* how many were filled when capture was last woken */

/* Capture sets max_entries of these four maps. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct ring_slot);
} slots SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ring_control);
} rings SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ring_losses);
} losses SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} rare SEC(".maps") __weak;

struct ring_place {
	u64 position;
	u32 cpu;
};

#define RING_NONE (~0ull)

/*
 * What is rare of ring_try() (ring.bpf.c). Not static, so that the verifier looks at it once, and
 * not at each place that reserves slots.
 */
u64 ring_try_again(u32 n); /* the position, or RING_NONE */
int ring_wake_part(void);

/* Counts a lost record of that kind; RING_LOST_ANY: the kind is not known. */
#define RING_LOST_ANY 0

static __always_inline void ring_count_lost(u64 kind)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_losses *lost = bpf_map_lookup_elem(&losses, &cpu);

	if (!lost)
		return;
	BOUND(kind, 63);
	__sync_fetch_and_add(&lost->all, 1);
	__sync_fetch_and_add(&lost->kinds[kind], 1);
}

static __always_inline void ring_count_incompletes(u64 n)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_control *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (ring)
		__sync_fetch_and_add(&ring->incomplete, n);
}

static __always_inline void ring_count_incomplete(void)
{
	ring_count_incompletes(1);
}

/*
 * Wakes capture, with a discarded entry in `rare`. Capture sleeps long if little happens, since a
 * timer that expires often costs the host more than the work of capture.
 */
static __always_inline void ring_wake(void)
{
	void *none = bpf_ringbuf_reserve(&rare, 8, 0);

	if (none)
		bpf_ringbuf_discard(none, BPF_RB_FORCE_WAKEUP);
}

/* Wakes capture for news of a process, which may soon be gone. */
static __always_inline void ring_wake_for_news(void)
{
	if (bpf_ktime_get_ns() >= *(volatile u64 *)&awake_until_ns)
		ring_wake();
}

/* Whether the ring has no room for `n` slots behind `head`. */
static __always_inline bool ring_is_full(const struct ring_control *ring, u64 head, u32 n)
{
	return !ring_overwrites &&
	       head + n - *(const volatile u64 *)&ring->tail > (1ull << (ring_bits & 31));
}

/* Reserves `n` slots of this CPU's ring. 0, or -1: there is no room. */
static __always_inline int ring_try(struct ring_place *place, u32 n)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_control *ring = bpf_map_lookup_elem(&rings, &cpu);
	u64 head;

	if (!ring)
		return -1;
	head = *(volatile u64 *)&ring->head;
	if (ring_is_full(ring, head, n))
		return -1;
	if (__sync_val_compare_and_swap(&ring->head, head, head + n) == head) {
		if ((head ^ (head + n)) & ring_part)
			ring_wake_part();
	} else { /* an interrupt came between */
		head = ring_try_again(n);
		if (head == RING_NONE)
			return -1;
	}
	place->cpu = cpu;
	place->position = head;
	return 0;
}

/* Reserves slots for a record of that kind. 0, or -1: there is no room, and the loss is counted. */
static __always_inline int ring_reserve(struct ring_place *place, u32 n, u32 kind)
{
	if (ring_try(place, n) == 0)
		return 0;
	ring_count_lost(kind);
	return -1;
}

static __always_inline struct ring_slot *ring_slot_at(const struct ring_place *place, u32 i)
{
	u32 bits = ring_bits & 31;
	u32 index = (place->cpu << bits) | ((u32)(place->position + i) & ((1u << bits) - 1));

	return bpf_map_lookup_elem(&slots, &index);
}

/* Publishes the record that begins in `first`, after all its other bytes are stored. */
static __always_inline void ring_seal(const struct ring_place *place, void *first)
{
	barrier();
#ifdef __TARGET_ARCH_x86
	*(volatile u32 *)first = (u32)place->position + 1;
#else
	__sync_lock_test_and_set((u32 *)first, (u32)place->position + 1);
#endif
}

static __always_inline int ring_copy_slot(const struct ring_place *place, const u64 *from, u32 i)
{
	u64 *to = (u64 *)ring_slot_at(place, i);

	if (!to)
		return -1;
#pragma unroll
	for (int word = 0; word < 8; word++)
		to[word] = from[8 * i + word];
	return 0;
}

/*
 * Copies the record, which must be readable up to the end of its last slot, and publishes it. The
 * sequence number is stored last: x86 does not reorder stores; other machines use an atomic
 * exchange.
 */
static __always_inline void ring_publish(const struct ring_place *place, void *record, u32 n)
{
	struct record_head *head = record;
	u64 *from = record, *to;
	struct ring_slot *slot;

	head->slots = n;
	head->cpu = place->cpu;
	if (n > 1 && ring_copy_slot(place, from, 1))
		return;
	if (n > 2 && ring_copy_slot(place, from, 2))
		return;
	slot = ring_slot_at(place, 0);
	if (!slot)
		return;
	to = (u64 *)slot;
#pragma unroll
	for (int word = 1; word < 8; word++)
		to[word] = from[word];
	((u32 *)to)[1] = ((u32 *)from)[1];
	ring_seal(place, to);
}

/* The kind under which a loss in `rare` counts. A lost notice may have been of an application. */
static __always_inline u32 rare_kind(const struct record_head *record)
{
	return record->kind <= RECORD_KIND_MAX ? record->kind : RECORD_service;
}

/*
 * Copies `class_bytes` (a constant) of a record into the rare ring, and stamps it: the clock is
 * read after the bytes are reserved. Whether there was room. RARE_EMIT also counts the loss if not.
 */
#define RARE_TRY(record, class_bytes)                                                              \
	({                                                                                         \
		struct record_head *to_ = bpf_ringbuf_reserve(&rare, (class_bytes), 0);            \
		if (to_) {                                                                         \
			bpf_probe_read_kernel(to_, (class_bytes), (record));                       \
			to_->cpu = bpf_get_smp_processor_id();                                     \
			to_->time_ns = bpf_ktime_get_ns();                                         \
			bpf_ringbuf_submit(to_, BPF_RB_NO_WAKEUP);                                 \
		}                                                                                  \
		to_ != NULL;                                                                       \
	})

#define RARE_EMIT(record, class_bytes)                                                             \
	({                                                                                         \
		bool there_ = RARE_TRY(record, class_bytes);                                       \
		if (!there_)                                                                       \
			ring_count_lost(rare_kind((const struct record_head *)(record)));          \
		there_;                                                                            \
	})

/* The size of scratch buffers for records of the rare ring. */
#define RARE_BYTES (RECORD_MAX_SLOTS * RECORD_SLOT_BYTES)
#define RARE_PART 20 /* a quarter, as a power of two: so many bytes wake capture */

static __always_inline void rare_wake(void)
{
	u64 part = bpf_ringbuf_query(&rare, BPF_RB_PROD_POS) >> RARE_PART;
	u64 last = *(volatile u64 *)&rare_part;

	if (part != last && __sync_val_compare_and_swap(&rare_part, last, part) == last)
		ring_wake();
}

/*
 * Writes a record of `len` bytes in a scratch buffer of RARE_BYTES. Whether there was room. A
 * global function, so that the verifier checks the code behind it once, and not for each size
 * class.
 */
__weak __noinline int rare_try(struct record_head *record, u32 len)
{
	if (!record)
		return false;
	record->slots = (len + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
	rare_wake();
	if (len <= 128)
		return RARE_TRY(record, 128);
	if (len <= 256)
		return RARE_TRY(record, 256);
	if (len <= 1152)
		return RARE_TRY(record, 1152);
	return RARE_TRY(record, RARE_BYTES);
}

static __always_inline bool rare_emit(struct record_head *record, u32 len)
{
	if (rare_try(record, len))
		return true;
	ring_count_lost(rare_kind(record));
	return false;
}

#define SHORT_SLOTS 3

static __always_inline u32 ring_slots_of(u32 bytes)
{
	return (bytes + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
}

/*
 * Writes a record that some programs make often, in a scratch buffer as above. A short one goes
 * through the slots of the CPU, which is cheaper, if they have room and do not overwrite: such
 * records must not be lost or overwritten together with frequent ones.
 */
static __always_inline bool short_emit(struct record_head *record, u32 len)
{
	u32 n = ring_slots_of(len);
	struct ring_place place;

	if (ring_overwrites || n > SHORT_SLOTS || ring_try(&place, n))
		return rare_emit(record, len);
	record->time_ns = bpf_ktime_get_ns();
	ring_publish(&place, record, n);
	return true;
}

struct rare_scratch {
	u8 bytes[RARE_BYTES];
};

#endif
