/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which life had a tid, and when. The kernel reuses tids, and a thread that calls execve takes the
 * tid of its leader.
 */
#ifndef MAP_SPAN_HOLDERS_H
#define MAP_SPAN_HOLDERS_H

#include "map/partial.h"

/* p->lives.data[life] had the number from from_ns on, until the next holder of that number. */
struct holder {
	u32 number;
	u64 from_ns;
	size_t life;
};

/* By number, then time. Starts with all zero. */
struct holders {
	VEC(struct holder) list;
};

/*
 * Adds the holders of all lives of a partial, which are finished and sorted; a life that took
 * another number has two. 0 or -ENOMEM. Free with holders_free() in any case.
 */
int holders_fill(struct holders *h, const struct partial *p);
void holders_free(struct holders *h);

/* The holder of the number at that time, else the first after it; NULL: nobody. Borrowed. */
const struct holder *holders_find(const struct holders *h, u32 number, u64 time_ns);

#endif
