/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a packet: rows of contexts and files, pids of threads. They start
 * empty in each packet, at no cost: each slot has the generation in which it was
 * filled.
 */
#ifndef CHUNK_TABLES_H
#define CHUNK_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "record/record.h"

/* tid -> pid, open addressing, at most half full. Zero-initialized is empty. */
struct tid_slot {
	u32 generation;
	u32 tid;
	u32 pid;
};

struct tid_table {
	struct tid_slot *slots;
	u32 capacity; /* a power of two, or 0 */
	u32 count;
	u32 generation; /* of the packet; slots of other generations are free */
};

static inline u32 tid_hash(u32 tid)
{
	return tid * 0x9e3779b1u >> 12;
}

/* The pid of a tid, 0 if there is none. */
static inline u32 tid_table_get(const struct tid_table *table, u32 tid)
{
	if (table->count == 0)
		return 0;
	for (u32 i = tid_hash(tid);; i++) {
		const struct tid_slot *slot = &table->slots[i & (table->capacity - 1)];

		if (slot->generation != table->generation)
			return 0;
		if (slot->tid == tid)
			return slot->pid;
	}
}

/* Sets the pid of a tid: 0 or -ENOMEM. */
int tid_table_put(struct tid_table *table, u32 tid, u32 pid);
static inline size_t tid_table_bytes(const struct tid_table *table)
{
	return table->capacity * sizeof(*table->slots);
}

/* Empties the table at the begin of a packet. */
void tid_table_reset(struct tid_table *table);
void tid_table_free(struct tid_table *table);

/* Values of `words` u64 each, numbered from 1 in order of arrival. */
struct intern_slot {
	u32 generation;
	u32 index;
};

struct intern_table {
	struct intern_slot *slots;
	u64 *values; /* row n at values[(n - 1) * words] */
	u32 capacity;
	u32 count;
	u32 generation;
	u32 last; /* number of the last value found; 0: none */
	u32 words;
};

/*
 * Returns the number of a value; sets *is_new if it was appended. 0 if out of memory.
 */
u32 intern_table_slow(struct intern_table *table, const u64 *value, bool *is_new);

static inline u32 intern_table_put(struct intern_table *table, u32 words, const u64 *value,
				   bool *is_new)
{
	if (table->last) {
		const u64 *row = &table->values[(size_t)(table->last - 1) * words];

		if (row[0] == value[0] && row[1] == value[1] && (words < 3 || row[2] == value[2])) {
			*is_new = false;
			return table->last;
		}
	}
	return intern_table_slow(table, value, is_new);
}

void intern_table_init(struct intern_table *table, u32 words);
void intern_table_reset(struct intern_table *table);
void intern_table_free(struct intern_table *table);

#endif
