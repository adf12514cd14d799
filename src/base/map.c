/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear probing. Invariant: between the home of a key and the key there is
 * no free entry. A removal restores it by moving later entries back, so there
 * are no tombstones. At most three quarters are used: a probe always ends.
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAP_MIN_CAPACITY 16

static bool map_is_full(size_t count, size_t capacity)
{
	return capacity == 0 || count >= capacity / 4 * 3;
}

static size_t map_find(const struct map *m, uint64_t key)
{
	size_t mask = m->capacity - 1;
	size_t i = hash_u64(key) & mask;

	while (m->entries[i].value && m->entries[i].key != key)
		i = (i + 1) & mask;
	return i;
}

static int map_grow(struct map *m)
{
	struct map bigger = {.capacity = m->capacity ? m->capacity * 2 : MAP_MIN_CAPACITY};

	bigger.entries = calloc(bigger.capacity, sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < m->capacity; i++) {
		if (m->entries[i].value)
			bigger.entries[map_find(&bigger, m->entries[i].key)] = m->entries[i];
	}
	bigger.count = m->count;
	free(m->entries);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t key, void *value)
{
	struct map_entry *entry;

	if (!value)
		return -EINVAL;
	if (map_is_full(m->count, m->capacity)) {
		int err = map_grow(m);

		if (err)
			return err;
	}
	entry = &m->entries[map_find(m, key)];
	if (!entry->value)
		m->count++;
	entry->key = key;
	entry->value = value;
	return 0;
}

void *map_remove(struct map *m, uint64_t key)
{
	size_t mask = m->capacity - 1;
	size_t hole, i;
	void *value;

	if (m->count == 0)
		return NULL;
	hole = map_find(m, key);
	value = m->entries[hole].value;
	if (!value)
		return NULL;
	for (i = (hole + 1) & mask; m->entries[i].value; i = (i + 1) & mask) {
		size_t home = hash_u64(m->entries[i].key) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->entries[hole] = m->entries[i];
			hole = i;
		}
	}
	m->entries[hole].value = NULL;
	m->count--;
	return value;
}

bool map_next(const struct map *m, size_t *at, struct map_entry *entry)
{
	while (*at < m->capacity) {
		const struct map_entry *next = &m->entries[(*at)++];

		if (next->value) {
			*entry = *next;
			return true;
		}
	}
	return false;
}

void map_free(struct map *m)
{
	if (!m)
		return;
	free(m->entries);
	*m = (struct map){0};
}

static size_t bytes_map_find(const struct bytes_map *m, const struct bytes_map_entry *key)
{
	size_t mask = m->capacity - 1;
	size_t i = key->hash & mask;

	for (; m->entries[i].value; i = (i + 1) & mask) {
		const struct bytes_map_entry *entry = &m->entries[i];

		if (entry->hash == key->hash && entry->len == key->len &&
		    (key->len == 0 || memcmp(entry->key, key->key, key->len) == 0))
			break;
	}
	return i;
}

static int bytes_map_grow(struct bytes_map *m)
{
	struct bytes_map bigger = {.capacity = m->capacity ? m->capacity * 2 : MAP_MIN_CAPACITY};

	bigger.entries = calloc(bigger.capacity, sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < m->capacity; i++) {
		if (m->entries[i].value)
			bigger.entries[bytes_map_find(&bigger, &m->entries[i])] = m->entries[i];
	}
	bigger.count = m->count;
	free(m->entries);
	*m = bigger;
	return 0;
}

void *bytes_map_get(const struct bytes_map *m, const void *key, size_t len)
{
	struct bytes_map_entry wanted = {.key = key, .len = len};

	if (m->count == 0)
		return NULL;
	wanted.hash = hash_bytes(key, len);
	return m->entries[bytes_map_find(m, &wanted)].value;
}

int bytes_map_put(struct bytes_map *m, const void *key, size_t len, void *value)
{
	struct bytes_map_entry wanted = {hash_bytes(key, len), key, len, value};
	struct bytes_map_entry *entry;
	char *copy;

	if (!value)
		return -EINVAL;
	if (map_is_full(m->count, m->capacity)) {
		int err = bytes_map_grow(m);

		if (err)
			return err;
	}
	entry = &m->entries[bytes_map_find(m, &wanted)];
	if (entry->value) {
		entry->value = value;
		return 0;
	}
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, key, len);
	copy[len] = '\0';
	wanted.key = copy;
	*entry = wanted;
	m->count++;
	return 0;
}

void *bytes_map_remove(struct bytes_map *m, const void *key, size_t len)
{
	struct bytes_map_entry wanted = {hash_bytes(key, len), key, len, NULL};
	size_t mask = m->capacity - 1;
	size_t hole, i;
	void *value;

	if (m->count == 0)
		return NULL;
	hole = bytes_map_find(m, &wanted);
	value = m->entries[hole].value;
	if (!value)
		return NULL;
	free((void *)m->entries[hole].key);
	for (i = (hole + 1) & mask; m->entries[i].value; i = (i + 1) & mask) {
		size_t home = m->entries[i].hash & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->entries[hole] = m->entries[i];
			hole = i;
		}
	}
	m->entries[hole] = (struct bytes_map_entry){0};
	m->count--;
	return value;
}

bool bytes_map_next(const struct bytes_map *m, size_t *at, struct bytes_map_entry *entry)
{
	while (*at < m->capacity) {
		const struct bytes_map_entry *next = &m->entries[(*at)++];

		if (next->value) {
			*entry = *next;
			return true;
		}
	}
	return false;
}

void bytes_map_free(struct bytes_map *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->capacity; i++) {
		if (m->entries[i].value)
			free((void *)m->entries[i].key);
	}
	free(m->entries);
	*m = (struct bytes_map){0};
}
