/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals of time, each of an owner: a process, a thread, or nobody (0).
 *
 * Not thread-safe; several threads may ask joined intervals at once.
 */
#ifndef BASE_INTERVALS_H
#define BASE_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

/* [begin_ns, end_ns) */
struct interval {
	uint64_t begin_ns, end_ns;
	uint32_t owner;
};

struct intervals { /* a VEC */
	struct interval *data;
	size_t count, capacity;
};

/* Sorts them by owner, then begin; those of one owner that overlap or touch become one. */
void intervals_join(struct intervals *list);

/*
 * From the begin of the first interval of the owner that overlaps `in`, or of which an empty `in`
 * lies in the middle, to the end of the last; end_ns 0: there is none. Of joined intervals.
 */
struct interval intervals_around(const struct intervals *joined, struct interval in);

#endif
