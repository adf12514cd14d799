/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of stored spans for each operation since the start, for /metrics. One that stands for
 * others (`fathom.stands_for`) counts for them, too.
 *
 * Operations beyond TALLY_OPERATIONS_MAX, and those with long names, are counted together, as the
 * operation "other" of the service "other". One thread adds, and any thread reads.
 */
#ifndef SERVE_TALLY_H
#define SERVE_TALLY_H

#include "base/vec.h"
#include "serve/watch.h"

#define TALLY_OPERATIONS_MAX 1000u
#define TALLY_NAME_BYTES_MAX 256u /* of a service or an operation */
#define TALLY_OTHER "other"
#define TALLY_BOUNDS 16

/* The upper ends of the buckets of durations, which are inclusive. */
extern const uint64_t tally_bounds_ns[TALLY_BOUNDS];

struct tally_sums {
	uint64_t spans, errors, duration_ns;
	uint64_t buckets[TALLY_BOUNDS + 1]; /* the last one has what is longer; not cumulative */
	uint64_t splits;		    /* spans with a time split, which `time` sums up */
	uint64_t time_ns[SPLIT_PARTS_COUNT];
};

struct tally_operation {
	const char *service, *name;
	uint8_t kind; /* enum received_kind */
	struct tally_sums sums;
};

struct tally;

/* NULL: no memory. */
struct tally *tally_open(void);

/* NULL is allowed. */
void tally_close(struct tally *t);

/* Tells the tally of spans. Spans that it has no memory for are not counted. */
struct span_watch tally_watch(struct tally *t);

typedef VEC(struct tally_operation) tally_list;

/*
 * Copies all operations, sorted by service, name and kind. Their names live as long as the tally.
 * 0 or -ENOMEM. Free the list.
 */
int tally_read(struct tally *t, tally_list *out);

#endif
