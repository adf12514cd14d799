/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What services do for a request, as sums: how often they call which peer, what always ended
 * before, and how long after. All are counts under a key, so sums of several recordings are added
 * count by count, in any order and grouping.
 *
 * Not thread-safe.
 */
#ifndef REQUEST_LEARNED_H
#define REQUEST_LEARNED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "record/record.h"

/* Values are written to files and only appended. */
enum learned_kind {
	LEARNED_REQUESTS = 1,	 /* requests to the service */
	LEARNED_CALLS = 2,	 /* requests that called the peer `value` times */
	LEARNED_DONE = 3,	 /* calls, before which so many of those to `other` had ended */
	LEARNED_UNDER_WAY = 4,	 /* calls, beside which so many of the request were under way */
	LEARNED_LAG_COUNT = 5,	 /* calls of which the delay after the last input was seen */
	LEARNED_LAG_SUM = 6,	 /* the sum of the logarithms of these delays */
	LEARNED_LAG_SQUARES = 7, /* the sum of their squares */
	LEARNED_ALONE_NS = 8,	 /* duration of the requests, in which nothing else was open */
	LEARNED_IDLE_NS = 9,	 /* time after them without any request */
	LEARNED_IDLE_CALLS = 10, /* calls to the peer in this time: nobody's */
	LEARNED_BEGUN = 11,	 /* calls, before which so many of those to `other` had begun */
};

struct learned_key {
	u64 service, peer, other; /* exchange_connection.peer; 0 where the kind has none */
	u16 nth;		  /* which call to the peer: 0 is the first */
	u16 value;		  /* what was counted */
	u8 kind;		  /* enum learned_kind */
	u8 backward;		  /* as seen from the end of requests towards their begin */
	u16 spare;
};

struct learned_row {
	struct learned_key key;
	u64 count;
};

/* Higher numbers and counts share the last value. */
enum { LEARNED_NTH_MOST = 15, LEARNED_DONE_MOST = 16, LEARNED_CALLS_MOST = 64 };

/* Starts with all zero. */
struct learned {
	VEC(struct learned_row) rows; /* in no order, but each key once */
	u32 *places;		      /* a hash table of numbers of rows, plus one; 0: free */
	size_t place_count;	      /* a power of two, or 0 */
};

/* Adds to the count of a key. Bytes of the key that its kind does not use are zero. 0 or -ENOMEM.
 */
int learned_add(struct learned *l, const struct learned_key *key, u64 count);

/* The count of a key; 0 if it is not there. */
u64 learned_count(const struct learned *l, const struct learned_key *key);

/* Adds all counts of `from`. 0, or -ENOMEM with a part of them added. */
int learned_merge(struct learned *into, const struct learned *from);

/* Sorts the rows by key: the same sums then are the same bytes. */
void learned_sort(struct learned *l);

/*
 * The rows of a service, which stand together in sorted sums: puts the first one into *rows.
 * Returns their count.
 */
size_t learned_of_service(const struct learned *sorted, bool backward, u64 service,
			  const struct learned_row **rows);

/* Frees the memory, and leaves empty sums. */
void learned_free(struct learned *l);

#endif
