/* SPDX-License-Identifier: Apache-2.0 */
/* For lists that are sorted: how two elements compare, and where one stands. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stddef.h>

/* In a function that compares for qsort(): returns if the two values differ. */
#define COMPARE(x, y)                                                                              \
	do {                                                                                       \
		if ((x) != (y))                                                                    \
			return (x) < (y) ? -1 : 1;                                                 \
	} while (0)

/*
 * The number of elements of a VEC for which `before`, said of the pointer `element`, holds. They
 * stand first; the search is binary.
 */
#define COUNT_BEFORE(list, element, before)                                                        \
	({                                                                                         \
		size_t low_ = 0, high_ = (list)->count;                                            \
		while (low_ < high_) {                                                             \
			size_t middle_ = low_ + (high_ - low_) / 2;                                \
			__typeof__((list)->data) element = &(list)->data[middle_];                 \
			if (before)                                                                \
				low_ = middle_ + 1;                                                \
			else                                                                       \
				high_ = middle_;                                                   \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
