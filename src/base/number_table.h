/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of numbers, for lists of tens of millions of things: it takes four bytes for each,
 * where a map takes 16. The caller compares the things themselves. It walks from the home of a hash
 * until it finds the number of the thing, or the free place for it.
 *
 * Not thread-safe.
 */
#ifndef BASE_NUMBER_TABLE_H
#define BASE_NUMBER_TABLE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct number_table {
	uint32_t *places; /* number + 1; 0: free */
	size_t mask;
};

/* Makes a table for at most `count` things, so that a free place ends each walk. 0 or -ENOMEM. */
static inline int number_table_init(struct number_table *t, size_t count)
{
	size_t capacity = 16;

	while (capacity / 4 * 3 < count)
		capacity *= 2;
	t->mask = capacity - 1;
	t->places = (uint32_t *)calloc(capacity, sizeof(*t->places));
	return t->places ? 0 : -ENOMEM;
}

static inline uint32_t *number_table_home(const struct number_table *t, uint64_t hash)
{
	return &t->places[hash & t->mask];
}

static inline uint32_t *number_table_next(const struct number_table *t, const uint32_t *place)
{
	return &t->places[(size_t)(place + 1 - t->places) & t->mask];
}

static inline void number_table_free(struct number_table *t)
{
	free(t->places);
	*t = (struct number_table){0};
}

#endif
