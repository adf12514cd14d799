/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to records beside their being written: loss, and new listeners. */
#include "lib/record_write.h"

/* Every so many losses a thread without a lane looks for one. */
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
	if (write_clock() > __atomic_load_n(&t->ring->lease_ns, __ATOMIC_RELAXED)) {
		/* Not if another listener has come in between. */
		__atomic_compare_exchange_n(&t->ring->listening, &session, 0, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		return;
	}
	if (!t->lane)
		lane_missing(t);
	else
		__atomic_fetch_add(&t->lane->control.lost[RING_LOST_OTHER], 1, __ATOMIC_RELAXED);
}

void fathom_write_service(struct fathom_thread *t, u32 session)
{
	u32 *told = &fathom_process.told;
	u32 before = __atomic_load_n(told, __ATOMIC_RELAXED);
	struct record_service *r;
	struct write w;
	char text[1024];
	size_t bytes;

	t->told = session;
	if (session == 0 || before == session ||
	    !__atomic_compare_exchange_n(told, &before, session, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	bytes = fathom_identity_text(text, sizeof(text));
	if (!write_begin(&w, t, RECORD_service, offsetof(struct record_service, resource) + bytes))
		return;
	r = (struct record_service *)(void *)w.to;
	r->resource_len = (u16)bytes;
	write_text(r->resource, text, bytes);
	write_publish(&w);
}
