/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of threads that are many and come in the order of time, such as details of calls. They are
 * put into segments of one thread as they come, so that only the segments need to be sorted, and
 * nothing is copied.
 *
 * Not thread-safe; once they are sorted several threads may ask at once.
 */
#ifndef MAP_FACT_THREAD_FACTS_H
#define MAP_FACT_THREAD_FACTS_H

#include <stdbool.h>

#include "base/vec.h"
#include "map/fact/arena.h"
#include "record/record.h"

#define THREAD_FACTS_OPEN_BITS 8

struct thread_segment {
	u32 tid;
	u16 count, capacity;
	bool unsorted;
	u64 first_ns, last_ns; /* times of the first and the last of them */
	char *data;
};

/* Starts with all zero. */
struct thread_facts {
	VEC(struct thread_segment) segments;
	struct arena arena;
	size_t count;			       /* of facts */
	u32 open[1 << THREAD_FACTS_OPEN_BITS]; /* by thread: number of its last segment, + 1 */
};

/* The layout and the order of the facts. */
struct thread_order {
	size_t size, tid_at, time_at; /* in bytes; where its u32 and u64 stand */
	/* As for qsort(): by thread, then time, then by all that an answer can show. */
	int (*compare)(const void *a, const void *b);
};

/* Room for a fact of that thread and time, for the caller to fill; NULL: no memory. */
void *thread_facts_add(struct thread_facts *t, size_t size, u32 tid, u64 time_ns);

/* Adds a copy of a fact, and returns it; NULL if there is no memory. */
void *thread_facts_put(struct thread_facts *t, const struct thread_order *order, const void *fact);

/* Moves the facts of `right`, which is left empty. After -ENOMEM both are only to be freed. */
int thread_facts_merge(struct thread_facts *left, struct thread_facts *right);

/* Sorts the facts. 0 or -ENOMEM. */
int thread_facts_sort(struct thread_facts *t, const struct thread_order *order);

void thread_facts_free(struct thread_facts *t);

/* ---- of sorted facts ---- */

/* A place between two facts. All zero: before the first. */
struct thread_place {
	size_t segment, index;
};

/* The place behind the facts of the thread that lie before that time. */
struct thread_place thread_facts_before(const struct thread_facts *t,
					const struct thread_order *order, u32 tid, u64 time_ns);

/* The fact behind the place, or before it; the place moves over it. NULL: there is none. */
const void *thread_facts_next(const struct thread_facts *t, size_t size,
			      struct thread_place *place);
const void *thread_facts_last(const struct thread_facts *t, size_t size,
			      struct thread_place *place);

#endif
