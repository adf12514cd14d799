/* SPDX-License-Identifier: Apache-2.0 */
/* The rare cases of writing a record: it has no room, or there is a new listener. */
#include "lib/record_write.h"

#include "lib/identity.h"

/* After so many losses a thread without a lane looks for one. */
#define LANE_RETRY 256

static void lane_missing(struct fathom_thread *t)
{
	if (t->ring->magic != APP_RING_MAGIC)
		return;
	if (__atomic_fetch_add(&t->ring->lost, 1, __ATOMIC_RELAXED) % LANE_RETRY == 0)
		fathom_lane_claim(t);
}

void fathom_write_lost(struct fathom_thread *t)
{
	u32 session = __atomic_load_n(&t->ring->listening, __ATOMIC_RELAXED);

	if (session == 0)
		return;
	if (clock_now_ns() > __atomic_load_n(&t->ring->lease_ns, __ATOMIC_RELAXED)) {
		/* fails if another listener has come meanwhile */
		__atomic_compare_exchange_n(&t->ring->listening, &session, 0, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		return;
	}
	if (!t->lane)
		lane_missing(t);
	else
		__atomic_fetch_add(&t->lane->control.lost[RING_LOST_OTHER], 1, __ATOMIC_RELAXED);
}

/* Whether our longest record has room. If not, nothing is counted, as nothing was lost. */
static bool lane_has_room(const struct fathom_thread *t)
{
	const struct ring_control *c = t->lane ? &t->lane->control : NULL;

	return c && __atomic_load_n(&c->head, __ATOMIC_RELAXED) + WRITE_MAX_SLOTS -
				    __atomic_load_n(&c->tail, __ATOMIC_ACQUIRE) <=
			    APP_RING_SLOTS;
}

/* Ends the grace if its time is over. Returns the session that holds then, 0 if nobody came. */
static u32 grace_check(const struct fathom_thread *t)
{
	u32 session = APP_RING_GRACE;

	if (clock_now_ns() <= __atomic_load_n(&t->ring->lease_ns, __ATOMIC_RELAXED))
		return session;
	/* fails if a listener has come meanwhile */
	return __atomic_compare_exchange_n(&t->ring->listening, &session, 0, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED)
		       ? 0
		       : session;
}

/*
 * Writes the service record for a session, unless that was done. The session counts as told once
 * the record is written. A thread that cannot write it now tries again with its next record, and so
 * do others. Two threads may write it; the reader accepts that. A thread never takes the grace as
 * told, so each of its records checks whether the grace is over.
 */
static void write_service(struct fathom_thread *t, u32 session)
{
	u64 version = __atomic_load_n(&fathom_process.version, __ATOMIC_ACQUIRE);
	u64 tell = version << 32 | session;
	struct record_service *r;
	struct write w;
	char text[1024];
	size_t bytes;

	if (session == 0 || __atomic_load_n(&fathom_process.told, __ATOMIC_RELAXED) == tell) {
		t->told = session == APP_RING_GRACE ? 0 : session;
		return;
	}
	if (!lane_has_room(t))
		return;
	bytes = fathom_identity_text(text, sizeof(text));
	if (!bytes ||
	    !write_begin(&w, t, RECORD_service, offsetof(struct record_service, resource) + bytes))
		return;
	r = (struct record_service *)(void *)w.to;
	r->resource_len = (u16)bytes;
	write_text(r->resource, text, bytes);
	write_publish(&w);
	__atomic_store_n(&fathom_process.told, tell, __ATOMIC_RELAXED);
	t->told = session == APP_RING_GRACE ? 0 : session;
}

bool fathom_write_session(struct fathom_thread *t, u32 session)
{
	if (session == APP_RING_GRACE)
		session = grace_check(t);
	write_service(t, session);
	return session != 0;
}
