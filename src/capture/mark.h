/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks tell since when a ring may have records that were reserved and are not published.
 *
 * A producer reserves its slots before it reads the clock. So a record behind a position that was
 * not reserved at some time is later than that time. A mark is a pair of such a time and position,
 * read in this order. A producer that stamps with the processor's counter may read it a little
 * before it reserves (lib/app_ring.h), so marks of such a ring are put earlier.
 */
#ifndef CAPTURE_MARK_H
#define CAPTURE_MARK_H

#include "record/record.h"

struct ring_mark {
	u64 head, ns;  /* the latest mark */
	u64 before_ns; /* the time of an earlier mark, whose position was drained */
};

/* Notes that `head` was read after now_ns, and that the ring is drained up to `tail` since. */
static inline void ring_mark_set(struct ring_mark *m, u64 tail, u64 head, u64 now_ns)
{
	if (tail < m->head && tail < head)
		return;
	m->before_ns = tail < head ? m->ns : now_ns;
	m->head = head;
	m->ns = now_ns;
}

/* A time before all records behind tail, up to which the ring is drained. */
static inline u64 ring_mark_clear_ns(const struct ring_mark *m, u64 tail)
{
	return tail < m->head ? m->before_ns : m->ns;
}

#endif
