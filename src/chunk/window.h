/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that wait until nothing older can come, sorted by time (equal times
 * in the order of arrival). Records come nearly in order, which makes it cheap;
 * what does not, as an application can write any time, is sorted when it is asked for.
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
	u8 *bytes; /* whole structs, texts as long as they say */
	size_t used;
	size_t capacity;
	u8 *spare; /* where window_trim() puts what stays; it becomes bytes then */
	size_t spare_capacity;
	struct window_entry *entries; /* [first, count) wait */
	size_t first;
	size_t count;
	size_t entry_capacity;
	bool unsorted; /* the entries wait for window_sort() */
};

/*
 * Takes a copy, made whole: what was not published of its struct is zero.
 * 0, -EINVAL (no such kind), -ENOMEM. *cut is set if its text was cut.
 */
int window_add(struct window *w, const struct record_head *record, bool *cut);

/* Before the first is asked for, or entries[] is looked at. Cheap if nothing was out of order. */
void window_sort(struct window *w);

static inline const struct record_head *window_first(const struct window *w)
{
	return (const struct record_head *)(w->bytes + w->entries[w->first].at);
}

static inline bool window_is_empty(const struct window *w)
{
	return w->first == w->count;
}

/* Drops the first. */
static inline void window_pop(struct window *w)
{
	w->first++;
}

/* Gives room back after some were popped. */
void window_trim(struct window *w);
void window_free(struct window *w);

#endif
