/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the number of a thread was, and when: it is used again, and a thread that runs a program
 * takes that of its leader.
 */
#ifndef MAP_SPAN_HOLDERS_H
#define MAP_SPAN_HOLDERS_H

#include "map/partial.h"

/* From from_ns on, until the next one of that number, it was that of p->lives.data[life]. */
struct holder {
	u32 number;
	u64 from_ns;
	size_t life;
};

/* By number, then time. Begins with all zero. */
struct holders {
	VEC(struct holder) list;
};

/*
 * Of all lives of a partial, which are finished and sorted; one that took another number held
 * two. 0 or -ENOMEM. Free with holders_free() in any case.
 */
int holders_fill(struct holders *h, const struct partial *p);
void holders_free(struct holders *h);

/* Who had the number at that time, or had it first after; NULL: nobody. Borrowed from `h`. */
const struct holder *holders_find(const struct holders *h, u32 number, u64 time_ns);

#endif
