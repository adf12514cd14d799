/* SPDX-License-Identifier: Apache-2.0 */
#include "store/known_ids.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 1024

static size_t place_of(const struct known_ids *set, uint64_t id)
{
	return (id >> KNOWN_MARK_BITS) & (set->capacity - 1);
}

size_t known_ids_find(const struct known_ids *set, uint64_t id, uint64_t mask)
{
	size_t i;

	if (!set->count)
		return 0;
	for (i = place_of(set, id); set->data[i]; i = (i + 1) & (set->capacity - 1)) {
		if (((set->data[i] ^ id) & mask) == 0)
			return i + 1;
	}
	return 0;
}

static void id_place(struct known_ids *set, uint64_t id, uint16_t service)
{
	size_t i = place_of(set, id);

	while (set->data[i])
		i = (i + 1) & (set->capacity - 1);
	set->data[i] = id;
	set->services[i] = service;
	set->count++;
}

void known_ids_free(struct known_ids *set)
{
	free(set->data);
	free(set->services);
	*set = (struct known_ids){0};
}

static int ids_grow(struct known_ids *set)
{
	struct known_ids grown = {.capacity = set->capacity ? 2 * set->capacity : FIRST_CAPACITY};

	grown.data = calloc(grown.capacity, sizeof(*grown.data));
	grown.services = calloc(grown.capacity, sizeof(*grown.services));
	if (!grown.data || !grown.services) {
		known_ids_free(&grown);
		return -ENOMEM;
	}
	for (size_t i = 0; i < set->capacity; i++) {
		if (set->data[i])
			id_place(&grown, set->data[i], set->services[i]);
	}
	known_ids_free(set);
	*set = grown;
	return 0;
}

int known_ids_add(struct known_ids *set, uint64_t id, uint16_t service)
{
	int err = set->count * 3 < set->capacity * 2 ? 0 : ids_grow(set);

	if (!err)
		id_place(set, id, service);
	return err;
}
