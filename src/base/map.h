/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash maps with open addressing: from a number, or from bytes, to a pointer.
 *
 * Start with all zero. Values are never NULL and belong to the caller. The
 * order of an iteration depends only on the insertions and removals. Sort first
 * if the output must not depend on these. Not thread-safe.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* The value of a key in a map that is used as a set. */
#define PRESENT ((void *)1)

struct map_entry {
	uint64_t key;
	void *value; /* NULL: free */
};

struct map {
	struct map_entry *entries;
	size_t count;
	size_t capacity; /* a power of two, or 0 */
};

/* The value of a key, NULL if there is none. */
static inline void *map_get(const struct map *m, uint64_t key)
{
	if (m->count == 0)
		return NULL;
	for (size_t i = hash_u64(key);; i++) {
		const struct map_entry *entry = &m->entries[i & (m->capacity - 1)];

		if (!entry->value || entry->key == key)
			return entry->value;
	}
}

/* Sets the value (not NULL) of a key. 0, or -ENOMEM with the map unchanged. */
int map_put(struct map *m, uint64_t key, void *value);

/* Removes a key and returns its value, NULL if there was none. */
void *map_remove(struct map *m, uint64_t key);

/*
 * Walks over all entries: start with *at = 0; returns false at the end. Only values
 * may change meanwhile.
 */
bool map_next(const struct map *m, size_t *at, struct map_entry *entry);

/* Frees the table and leaves an empty map. Does not free the values. */
void map_free(struct map *m);

struct bytes_map_entry {
	uint64_t hash;
	const void *key; /* the map's copy, followed by a NUL */
	size_t len;
	void *value; /* NULL: free */
};

struct bytes_map {
	struct bytes_map_entry *entries;
	size_t count;
	size_t capacity;
};

/* The same operations with a key of `len` bytes, which bytes_map_put() copies. */
void *bytes_map_get(const struct bytes_map *m, const void *key, size_t len);
int bytes_map_put(struct bytes_map *m, const void *key, size_t len, void *value);
void *bytes_map_remove(struct bytes_map *m, const void *key, size_t len);
bool bytes_map_next(const struct bytes_map *m, size_t *at, struct bytes_map_entry *entry);
void bytes_map_free(struct bytes_map *m);

#endif
