/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of durations, which are kept beside the spans.
 *
 * A row is a change: all rows of the same time, operation, error and part are added to each other.
 * Each commit writes its changes into `sums_fresh`. Every ten seconds they are added up in memory,
 * written into `sums`, and deleted from `sums_fresh`. So the rows of an hour are few, and a crash
 * loses none of them. A complete file has the same in steps of a minute, for long ranges, in
 * `sums_minutes`.
 */
#ifndef STORE_SPAN_SUMS_H
#define STORE_SPAN_SUMS_H

#include "base/map.h"
#include "store/durations.h"
#include "store/filler.h"
#include "store/store.h"
#include "store/told.h"

#define SUMS_MINUTE_NS UINT64_C(60000000000)
#define SUMS_DURATION 255 /* the part that stands for all of the duration */
/*
 * The part that has what SUMS_DURATION counts and nobody saw, without durations: of a span that
 * stands for 30, 29. It has no row where each span stands for itself.
 */
#define SUMS_UNSEEN 254
#define SUMS_TABLE(name)                                                                           \
	"CREATE TABLE IF NOT EXISTS " name "(begin_ns UBIGINT NOT NULL, step_ns UBIGINT NOT NULL," \
	" operation UBIGINT NOT NULL, error UTINYINT NOT NULL, part UTINYINT NOT NULL,"            \
	" count UBIGINT NOT NULL, total_ns UBIGINT NOT NULL, max_ns UBIGINT NOT NULL,"             \
	" measured UBIGINT NOT NULL, buckets BLOB NOT NULL)"
#define SUMS_COLUMNS                                                                               \
	"begin_ns, step_ns, operation, error, part, count, total_ns, max_ns, measured, buckets"

struct span_sum {
	uint64_t begin_ns;
	uint64_t operation;
	uint8_t is_error;
	uint8_t part;	   /* enum split_part, SUMS_DURATION or SUMS_UNSEEN */
	uint64_t count;	   /* of spans; those that have the part, if it is one */
	uint64_t total_ns; /* like the count it wraps below 0 where values are taken out */
	uint64_t max_ns;
	uint64_t measured; /* spans with a split; of SUMS_DURATION and SUMS_UNSEEN alone */
	struct durations durations;
};

struct span_sums {
	struct map fresh;    /* struct span_sum, since the last commit */
	struct map unfolded; /* those in `sums_fresh`, added up */
	uint64_t fold_ns;    /* when the next fold is due, by the monotonic clock */
	bool folding;	     /* the transaction deletes what is in `sums_fresh` */
	struct bytes text;
};

/*
 * Adds a span to the sums, or, with `times` -1, takes it out. One that stands for others
 * (told.stands_for) counts for them, too.
 */
int span_sums_add(struct span_sums *s, const struct received_span *span, const struct told *told,
		  uint64_t operation, int times);

/* Writes the changes in the transaction of the writer. */
int span_sums_write(struct span_sums *s, struct database *db, duckdb_connection writer,
		    struct error *e);

/* Writes sums of minutes of all that the file has. The transaction wrote its changes. */
int span_sums_minutes(struct span_sums *s, struct database *db, duckdb_connection writer,
		      struct error *e);

/* The transaction was committed, or it was abandoned. */
void span_sums_committed(struct span_sums *s);
void span_sums_abandoned(struct span_sums *s);

/* Reads what a process before this one did not fold. */
int span_sums_load(struct span_sums *s, struct database *db, duckdb_connection writer,
		   struct error *e);

void span_sums_free(struct span_sums *s);

#endif
