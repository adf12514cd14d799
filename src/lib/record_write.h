/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one record into the lane of the calling thread: reserves, fills, publishes. */
#ifndef LIB_RECORD_WRITE_H
#define LIB_RECORD_WRITE_H

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/counter.h"
#include "lib/thread.h"

/* The longest records that we write: a service with 1,024 bytes of text, and an attribute. */
#define WRITE_MAX_SLOTS 18

/* A record that is being written. Initialized by write_begin() alone. */
struct write {
	struct app_lane *lane;
	u64 at; /* position of its first slot */
	u32 slots;
	u8 *to; /* where the record is filled: its slots, or `scratch` if they wrap around */
	struct ring_slot scratch[WRITE_MAX_SLOTS];
};

static inline u32 write_slots(size_t bytes)
{
	return (u32)((bytes + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES);
}

/* Compare-and-swap, atomic against our own signal handlers only: it needs no bus lock. */
static inline bool write_take(u64 *head, u64 old, u64 new)
{
#if defined(__x86_64__)
	bool done;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@ccz"(done), "+m"(*head), "+a"(old)
			 : "r"(new)
			 : "memory");
	return done;
#else
	return __atomic_compare_exchange_n(head, &old, new, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
#endif
}

/* Calls memcpy() of the C library. If gcc knew the bound, it would use the slower `rep movs`. */
static inline void write_text(char *to, const char *from, size_t bytes)
{
	__asm__("" : "+r"(bytes));
	memcpy(to, from, bytes);
}

/* Counts a record that has no room. Stops writing if nobody listens any more. */
void fathom_write_lost(struct fathom_thread *t);
/*
 * For a session that this thread has not seen: writes the service record, unless another thread
 * has. In the grace of the ring, looks whether that is over. True if somebody listens.
 */
bool fathom_write_session(struct fathom_thread *t, u32 session);

/* Whether somebody listens, or may soon do so. */
static inline bool write_wanted(struct fathom_thread *t)
{
	u32 session = __atomic_load_n(&t->ring->listening, __ATOMIC_RELAXED);

	if (likely(session == t->told))
		return session != 0;
	return fathom_write_session(t, session);
}

/*
 * Stamps a record by the counter or by the clock. The words of the ring that decide are in our
 * cache as a rule, since capture writes there only twice a second.
 */
static inline void write_stamp(struct record_head *head, const struct app_ring *ring)
{
	u32 counter = __atomic_load_n(&ring->counter, __ATOMIC_RELAXED);

	if (likely(counter) &&
	    likely(counter == __atomic_load_n(&ring->listening, __ATOMIC_RELAXED))) {
		head->cpu = APP_RECORD_WHOLE ^ APP_RECORD_COUNTED;
		head->time_ns = counter_read();
	} else {
		head->cpu = APP_RECORD_WHOLE;
		head->time_ns = clock_now_ns();
	}
}

/*
 * Reserves and stamps a record of `bytes` bytes. False: it was lost. Its slots have remains of
 * earlier records, so the caller fills every field that lies in them, in part or as a whole. Bytes
 * behind the text do not matter.
 */
static inline bool write_begin(struct write *w, struct fathom_thread *t, u8 kind, size_t bytes)
{
	struct ring_control *c;
	struct record_head *head;
	u32 n = write_slots(bytes);
	u64 at, index;

	if (unlikely(!t->lane)) {
		fathom_write_lost(t);
		return false;
	}
	c = &t->lane->control;
	do {
		at = __atomic_load_n(&c->head, __ATOMIC_RELAXED);
		if (unlikely(at + n - __atomic_load_n(&c->tail, __ATOMIC_ACQUIRE) >
			     APP_RING_SLOTS)) {
			fathom_write_lost(t);
			return false;
		}
	} while (unlikely(!write_take(&c->head, at, at + n)));
	w->lane = t->lane;
	w->at = at;
	w->slots = n;
	index = at & (APP_RING_SLOTS - 1);
	w->to = w->lane->slots[index].bytes;
	if (unlikely(index + n > APP_RING_SLOTS)) {
		w->to = w->scratch[0].bytes;
		memset(w->scratch[n - 1].bytes, 0, RECORD_SLOT_BYTES); /* not our stack */
	}
	head = (struct record_head *)w->to;
	head->kind = kind;
	head->slots = (u8)n;
	write_stamp(head, t->ring);
	head->tid = t->tid;
	head->pid = t->pid;
	return true;
}

/* Marks a record whose text is cut. */
static inline void write_cut(struct write *w)
{
	((struct record_head *)w->to)->cpu &= (u16)~APP_RECORD_CUT;
}

static inline void write_publish(struct write *w)
{
	struct ring_slot *slots = w->lane->slots;
	u64 index = w->at & (APP_RING_SLOTS - 1);

	if (unlikely(w->to == w->scratch[0].bytes)) {
		u64 first = APP_RING_SLOTS - index;

		memcpy(slots[index].bytes + 4, w->to + 4, first * RECORD_SLOT_BYTES - 4);
		memcpy(slots, w->scratch + first, (w->slots - first) * RECORD_SLOT_BYTES);
	}
	__atomic_store_n((u32 *)(void *)slots[index].bytes, (u32)(w->at + 1), __ATOMIC_RELEASE);
}

#endif
