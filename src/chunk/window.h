/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that wait until no older one can arrive, sorted by time (and, for equal times,
 * by arrival). Records arrive nearly in order, so this is cheap. Others are sorted when
 * they are needed: an application can write any time.
 */
#ifndef CHUNK_WINDOW_H
#define CHUNK_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

struct window_entry {
	u64 time_ns;
	size_t at; /* in bytes[] */
};

struct window {
	u8 *bytes; /* complete structs, with texts as long as their length fields */
	size_t used;
	size_t capacity;
	u8 *spare; /* window_trim() moves the remaining records here, and swaps it with bytes */
	size_t spare_capacity;
	struct window_entry *entries; /* [first, count) wait */
	size_t first;
	size_t count;
	size_t entry_capacity;
	bool unsorted; /* the entries wait for window_sort() */
};

/*
 * Adds a copy of a record, completed with zeros where its struct was not published.
 * 0, -EINVAL (no such kind), or -ENOMEM. *cut is set if its text was cut.
 */
int window_add(struct window *w, const struct record_head *record, bool *cut);

/* Call this before window_first() or a look at entries[]. Cheap if nothing is out of order. */
void window_sort(struct window *w);

static inline const struct record_head *window_first(const struct window *w)
{
	return (const struct record_head *)(w->bytes + w->entries[w->first].at);
}

static inline bool window_is_empty(const struct window *w)
{
	return w->first == w->count;
}

/* Removes the first record. */
static inline void window_pop(struct window *w)
{
	w->first++;
}

/* Frees the space of removed records. */
void window_trim(struct window *w);
void window_free(struct window *w);

#endif
