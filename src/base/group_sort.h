/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts elements by group, if within each group they are mostly in order already. An example is the
 * events of many threads: those of each thread arrive in order of time. The elements are first
 * moved together by group, in linear time. Only a group that is out of order is sorted by
 * comparing.
 */
#ifndef BASE_GROUP_SORT_H
#define BASE_GROUP_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Groups are ordered by high, then by low. */
struct group_key {
	uint64_t high, low;
};

struct group_order {
	size_t size; /* of an element, in bytes */
	struct group_key (*key)(const void *element);
	/* As for qsort(). For elements of different groups it must agree with their keys. */
	int (*compare)(const void *a, const void *b);
};

/*
 * Sorts the `count` elements of *data. *data is memory of malloc(), and may be replaced by other
 * memory with room for `count` elements. Elements that compare equal are ordered as qsort() orders
 * them; for the same bytes each time, no two elements may compare equal. 0, or -ENOMEM with
 * everything unchanged. Two threads must not sort the same elements at once.
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
