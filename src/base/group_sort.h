/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts what comes in the right order for each of few groups, as what many threads did comes
 * in the order of time: elements are put together by group, which takes linear time, and only
 * a group that is out of order is sorted by comparing.
 */
#ifndef BASE_GROUP_SORT_H
#define BASE_GROUP_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Groups stand in the order of high, then low. */
struct group_key {
	uint64_t high, low;
};

struct group_order {
	size_t size; /* of an element, in bytes */
	struct group_key (*key)(const void *element);
	/* As for qsort(). Of elements of different groups it says what their keys say. */
	int (*compare)(const void *a, const void *b);
};

/*
 * Sorts the `count` elements of *data, memory of malloc() in place of which there may be
 * another afterwards, with room for `count`; elements that compare equal keep their order as far
 * as qsort() does that: who asks for the same bytes each time has them differ. 0, or -ENOMEM with
 * all as it was. Not thread-safe on the same elements.
 */
int group_sort(void **data, size_t count, const struct group_order *order);

/* The same for a VEC; `v` is a pointer to it. */
#define vec_group_sort(v, order)                                                                   \
	({                                                                                         \
		void *sorted_ = (v)->data;                                                         \
		int sort_err_ = group_sort(&sorted_, (v)->count, (order));                         \
		if (sorted_ != (void *)(v)->data)                                                  \
			(v)->capacity = (v)->count;                                                \
		(v)->data = sorted_;                                                               \
		sort_err_;                                                                         \
	})

#endif
