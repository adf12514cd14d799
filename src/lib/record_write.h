/* SPDX-License-Identifier: Apache-2.0 */
/* Writing one record into the lane of the calling thread: reserve, fill, publish. */
#ifndef LIB_RECORD_WRITE_H
#define LIB_RECORD_WRITE_H

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/counter.h"
#include "lib/thread.h"

/* The longest record that we write: a service with 1,024 bytes of text, an attribute. */
#define WRITE_MAX_SLOTS 18

/* A record under way. Not initialized but by write_begin(). */
struct write {
	struct app_lane *lane;
	u64 at; /* position of its first slot */
	u32 slots;
	u8 *to; /* where to fill it in: its slots, or `scratch` where they wrap around */
	struct ring_slot scratch[WRITE_MAX_SLOTS];
};

static inline u32 write_slots(size_t bytes)
{
	return (u32)((bytes + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES);
}

/* Compare-and-swap against our own signal handlers: no bus lock is needed. */
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

/* memcpy() of the C library: knowing the bound, gcc would use the slower `rep movs`. */
static inline void write_text(char *to, const char *from, size_t bytes)
{
	__asm__("" : "+r"(bytes));
	memcpy(to, from, bytes);
}

/* Counts what does not fit, and stops writing if nobody listens any more. */
void fathom_write_lost(struct fathom_thread *t);
/*
 * Of a session that was not told who we are: tells it, if no other thread has. In the
 * grace of the ring it looks whether that is over. True if somebody listens.
 */
bool fathom_write_session(struct fathom_thread *t, u32 session);

/* True if somebody listens, or may be about to. */
static inline bool write_wanted(struct fathom_thread *t)
{
	u32 session = __atomic_load_n(&t->ring->listening, __ATOMIC_RELAXED);

	if (likely(session == t->told))
		return session != 0;
	return fathom_write_session(t, session);
}

/* When it is written, and by what. Both places are near: capture writes there twice a second. */
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
 * Reserves and stamps a record of `bytes` bytes. False: it was lost. What is in its
 * slots is left over from earlier records: the caller fills every field that lies in
 * them in part or whole. Behind the text nobody looks.
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

/* Of a record under way: not all of its text fits. */
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
