/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was recorded of which time, and what was lost: a table of intervals in the file
 * `map/coverage`. map adds each chunk once; serve reads it for the answers about that time.
 *
 * Times are nanoseconds since 1970, as those of spans, so the table holds over boots. Neighbours
 * that say the same become one interval. Losses have one for each chunk. If the table is full,
 * neighbours among the older half of the losses are joined in pairs, and then the oldest intervals
 * are given up.
 */
#ifndef UP_COVERAGE_H
#define UP_COVERAGE_H

#include "base/vec.h"
#include "chunk/chunk.h"
#include "serve/coverage.h"

#define COVERAGE_MAX 4096u /* intervals */

enum coverage_kind {
	COVERAGE_RECORDED, /* chunks of this time were mapped */
	COVERAGE_DAMAGED,  /* a chunk could not be read */
	COVERAGE_NO_BYTES, /* the bytes of connections were left out, to hold the budget */
	COVERAGE_LOST,	   /* so many records were lost */
	COVERAGE_CUT,	   /* so many fields of records were cut or could not be read */
	COVERAGE_TURNS,	   /* the bytes of connections were recorded in turns, likewise */
	COVERAGE_KINDS
};

struct coverage_interval {
	u64 begin_ns, end_ns;
	u64 count;
	u32 kind; /* enum coverage_kind */
};

/* Starts with all zero. */
struct coverage_table {
	VEC(struct coverage_interval) list; /* in the order of their begins */
	u64 known_ns;			    /* nothing is known of the time before */
};

/* What is asked for. */
struct coverage_query {
	u64 from_ns, to_ns;
	u64 now_ns;
	bool is_recording; /* now: the last seconds are known in a moment */
};

/* Adds an interval, unless it is there already. 0 or -ENOMEM. */
int coverage_add(struct coverage_table *t, const struct coverage_interval *interval);

/* Adds a chunk; without what it lost (NULL), it could not be read. 0 or -ENOMEM. */
int coverage_chunk(struct coverage_table *t, const struct chunk_info *info,
		   const struct chunk_lost *lost);

/*
 * Tells of a time; `out` is all zero. Losses are those of the intervals that have some of it. The
 * end of the time that is not mapped yet is left out, while the host is recorded.
 */
void coverage_look(const struct coverage_table *t, const struct coverage_query *query,
		   struct coverage *out);

/*
 * Reads the file of the folder `map` (-1: there is none) into a table that is all zero. 0, also if
 * there is no file, -EBADMSG if it is damaged, or another negative errno, with the table all zero.
 */
int coverage_read(struct coverage_table *t, int folder);

/* Replaces the file. What cannot be written is only missed in answers, so it reports no errors. */
void coverage_write(const struct coverage_table *t, int folder);

void coverage_free(struct coverage_table *t);

#endif
