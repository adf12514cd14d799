/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array that grows: `VEC(struct span) spans = {0};`. Elements move when it
 * grows, so pointers to them become invalid. Not thread-safe.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <string.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *data;                                                                        \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

/*
 * Makes room for `more` elements after the last one. 0, or -ENOMEM with the array
 * unchanged. `v` is a pointer to a VEC.
 */
#define vec_reserve(v, more)                                                                       \
	vec_grow((void **)&(v)->data, &(v)->capacity, (v)->count, (more), sizeof(*(v)->data))

/* Appends a value: 0 or -ENOMEM. */
#define vec_push(v, ...)                                                                           \
	({                                                                                         \
		int vec_err_ = 0;                                                                  \
		if ((v)->count == (v)->capacity)                                                   \
			vec_err_ = vec_reserve(v, 1);                                              \
		if (vec_err_ == 0)                                                                 \
			(v)->data[(v)->count++] = (__VA_ARGS__);                                   \
		vec_err_;                                                                          \
	})

/*
 * Appends all elements of `b` to `a`, which has the same type, and leaves `b` empty. It copies
 * nothing if `a` is empty. 0, or -ENOMEM with both unchanged.
 */
#define vec_move(a, b)                                                                             \
	({                                                                                         \
		int vec_err_ = 0;                                                                  \
		if ((a)->count == 0) {                                                             \
			VEC_SWAP((a)->data, (b)->data);                                            \
			VEC_SWAP((a)->capacity, (b)->capacity);                                    \
		} else if ((b)->count) {                                                           \
			vec_err_ = vec_reserve(a, (b)->count);                                     \
			if (vec_err_ == 0)                                                         \
				memcpy((a)->data + (a)->count, (b)->data,                          \
				       (b)->count * sizeof(*(b)->data));                           \
		}                                                                                  \
		if (vec_err_ == 0) {                                                               \
			(a)->count += (b)->count;                                                  \
			(b)->count = 0;                                                            \
		}                                                                                  \
		vec_err_;                                                                          \
	})
#define VEC_SWAP(x, y)                                                                             \
	do {                                                                                       \
		__typeof__(x) vec_was_ = (x);                                                      \
		(x) = (y);                                                                         \
		(y) = vec_was_;                                                                    \
	} while (0)

/* Frees the memory of the elements and leaves an empty array. */
#define vec_free(v) vec_release((void **)&(v)->data, &(v)->capacity, &(v)->count)

/* Used by the macros above. */
int vec_grow(void **data, size_t *capacity, size_t count, size_t more, size_t size);
void vec_release(void **data, size_t *capacity, size_t *count);

#endif
