/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since when a ring may have records that are not published.
 *
 * A producer reserves its slots before it reads the clock. So what is reserved from a
 * position on which was not reserved at some time is later than that time. A mark is such
 * a pair of position and time, read in the order time, position. Who stamps by the processor's
 * counter may read that a little before (lib/app_ring.h): a mark of such a ring is put earlier.
 */
#ifndef CAPTURE_MARK_H
#define CAPTURE_MARK_H

#include "record/record.h"

struct ring_mark {
	u64 head, ns;  /* the latest */
	u64 before_ns; /* time of one whose position was reached */
};

/* The ring is drained up to tail; before, at now_ns, up to head was reserved. */
static inline void ring_mark_set(struct ring_mark *m, u64 tail, u64 head, u64 now_ns)
{
	if (tail < m->head && tail < head)
		return;
	m->before_ns = tail < head ? m->ns : now_ns;
	m->head = head;
	m->ns = now_ns;
}

/* All records behind tail, where the ring is drained up to, are later than this. */
static inline u64 ring_mark_clear_ns(const struct ring_mark *m, u64 tail)
{
	return tail < m->head ? m->before_ns : m->ns;
}

#endif
