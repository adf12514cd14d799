/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When it is not known which span a thread had.
 */
#ifndef MAP_SPAN_UNSURE_H
#define MAP_SPAN_UNSURE_H

#include "base/intervals.h"
#include "base/vec.h"
#include "model/life.h"

struct partial;

struct app_span;

/*
 * A thread of a process (pid 0: of any) had one of the spans that were begun before before_ns, or
 * none: which one is not known.
 */
struct unsure {
	u32 pid, tid;
	u64 begin_ns, end_ns;
	u64 before_ns; /* 0: it had none, unless its program lost records then */
	/* sorted: no element of the pid up to here concerns a span that begins then or later */
	u64 latest_ns;
};

/* Adds what life_sink.unnamed tells. 0 or -ENOMEM. */
int unsure_add(struct partial *p, const struct life *l, const struct life_share *share);

/* Adds a time at which no span had the thread, unless records were lost then. 0 or -ENOMEM. */
int unowned_add(struct partial *p, const struct life *l, const struct life_share *share);

/* Sorts them, once gaps are sorted and all are there. 0 or -ENOMEM. */
int unsure_sort(struct partial *p);

/* How much was looked at so far, and the most that is. */
struct looks {
	size_t count, most;
};

/*
 * Adds the parts of the range in which the span may have had a thread although nothing tells it;
 * all of the range when too much was looked at. The range begins with the span or later. 0 or
 * -ENOMEM.
 */
int unsure_find(const struct partial *p, const struct app_span *span, struct interval range,
		struct looks *looks, struct intervals *to);

#endif
