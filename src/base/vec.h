/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array that grows: `VEC(struct span) spans = {0};`. Elements move when it
 * grows, so pointers into it do not last. Not thread-safe.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *data;                                                                        \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

/*
 * Makes room for `more` elements behind count; 0, or -ENOMEM with the array
 * as it was. `v` is a pointer to a VEC.
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

/* Frees the elements' memory and leaves an empty array. */
#define vec_free(v) vec_release((void **)&(v)->data, &(v)->capacity, &(v)->count)

/* What the macros above are made of. */
int vec_grow(void **data, size_t *capacity, size_t count, size_t more, size_t size);
void vec_release(void **data, size_t *capacity, size_t *count);

#endif
