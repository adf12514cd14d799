/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64u

static struct tid_slot *tid_slot_of(struct tid_slot *slots, u32 capacity, u32 generation, u32 tid)
{
	for (u32 i = tid_hash(tid);; i++) {
		struct tid_slot *slot = &slots[i & (capacity - 1)];

		if (slot->generation != generation || slot->tid == tid)
			return slot;
	}
}

static int tid_table_grow(struct tid_table *table)
{
	u32 capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY;
	struct tid_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	if (table->generation == 0)
		table->generation = 1;
	for (u32 i = 0; i < table->capacity; i++) {
		const struct tid_slot *old = &table->slots[i];

		if (old->generation == table->generation)
			*tid_slot_of(slots, capacity, old->generation, old->tid) = *old;
	}
	free(table->slots);
	table->slots = slots;
	table->capacity = capacity;
	return 0;
}

int tid_table_put(struct tid_table *table, u32 tid, u32 pid)
{
	struct tid_slot *slot;

	if (2 * (table->count + 1) > table->capacity) {
		int err = tid_table_grow(table);

		if (err)
			return err;
	}
	slot = tid_slot_of(table->slots, table->capacity, table->generation, tid);
	if (slot->generation != table->generation)
		table->count++;
	*slot = (struct tid_slot){table->generation, tid, pid};
	return 0;
}

void tid_table_reset(struct tid_table *table)
{
	table->count = 0;
	if (++table->generation == 0) {
		if (table->capacity)
			memset(table->slots, 0, table->capacity * sizeof(*table->slots));
		table->generation = 1;
	}
}

void tid_table_free(struct tid_table *table)
{
	free(table->slots);
	*table = (struct tid_table){0};
}

void intern_table_init(struct intern_table *table, u32 words)
{
	*table = (struct intern_table){.words = words, .generation = 1};
}

static u32 value_hash(const struct intern_table *table, const u64 *value)
{
	return (u32)hash_pair(value[0] ^ (table->words > 2 ? value[2] : 0), value[1]);
}

static bool value_is(const u64 *row, const u64 *value, u32 words)
{
	for (u32 i = 0; i < words; i++) {
		if (row[i] != value[i])
			return false;
	}
	return true;
}

static struct intern_slot *intern_slot_of(const struct intern_table *table,
					  struct intern_slot *slots, u32 capacity, const u64 *value)
{
	for (u32 i = value_hash(table, value);; i++) {
		struct intern_slot *slot = &slots[i & (capacity - 1)];

		if (slot->generation != table->generation ||
		    value_is(&table->values[(size_t)(slot->index - 1) * table->words], value,
			     table->words))
			return slot;
	}
}

static int intern_table_grow(struct intern_table *table)
{
	u32 capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY;
	struct intern_slot *slots = calloc(capacity, sizeof(*slots));
	u64 *values = realloc(table->values, (size_t)capacity / 2 * table->words * sizeof(u64));

	if (values)
		table->values = values;
	if (!slots || !values) {
		free(slots);
		return -ENOMEM;
	}
	for (u32 n = 1; n <= table->count; n++) {
		const u64 *value = &values[(size_t)(n - 1) * table->words];

		*intern_slot_of(table, slots, capacity,
				value) = (struct intern_slot){table->generation, n};
	}
	free(table->slots);
	table->slots = slots;
	table->capacity = capacity;
	return 0;
}

u32 intern_table_slow(struct intern_table *table, const u64 *value, bool *is_new)
{
	struct intern_slot *slot;

	if (2 * (table->count + 1) > table->capacity && intern_table_grow(table))
		return 0;
	slot = intern_slot_of(table, table->slots, table->capacity, value);
	*is_new = slot->generation != table->generation;
	if (*is_new) {
		memcpy(&table->values[(size_t)table->count * table->words], value,
		       table->words * sizeof(u64));
		*slot = (struct intern_slot){table->generation, ++table->count};
	}
	table->last = slot->index;
	return slot->index;
}

void intern_table_reset(struct intern_table *table)
{
	table->count = 0;
	table->last = 0;
	if (++table->generation == 0) {
		if (table->capacity)
			memset(table->slots, 0, table->capacity * sizeof(*table->slots));
		table->generation = 1;
	}
}

void intern_table_free(struct intern_table *table)
{
	free(table->slots);
	free(table->values);
	intern_table_init(table, table->words);
}
