/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a report: where the time of spans, threads, processes, calls or files went. */
#ifndef ANSWER_ROWS_H
#define ANSWER_ROWS_H

#include "base/histogram.h"
#include "base/map.h"
#include "base/vec.h"
#include "map/partial.h"
#include "span/split.h"

/* row.absent: values that do not apply to a row */
#define ROW_NO_ERRORS 1
#define ROW_NO_DURATIONS 2 /* neither a total nor percentiles, as for events */
#define ROW_NO_SPLIT 4
#define ROW_NO_PERCENTILES 8 /* a sum without single durations, as for parts of time on a CPU */

/* Plain values; texts are borrowed, NULL and 0 mean that a value does not apply. */
struct row {
	const char *key;
	const char *service;
	const char *process;
	uint32_t pid;
	const char *thread;
	uint32_t tid;
	unsigned int absent;
	uint64_t count;
	uint64_t errors;
	uint64_t total_ns;
	uint64_t p50_ns;
	uint64_t p95_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	struct split time;
};

/* A row that is still summed up. */
struct group {
	struct row row;
	struct histogram durations;
};

struct rows {
	VEC(struct group *) groups; /* owned */
	VEC(struct row) rows;	    /* the result, sorted */
	VEC(char *) texts;	    /* owned; rows point into them and into the partial */
	struct bytes_map by_key;    /* identity of a row -> its group */
};

/* A way to group: a value of --by. */
struct grouping {
	const char *name;
	const char *sort; /* the default order */
	int (*fill)(struct rows *out, const struct partial *p);
};

/* The grouping of that name, NULL if there is none. */
const struct grouping *grouping_find(const char *name);

/* All groupings, in the order of the help. The last one has the name NULL. */
extern const struct grouping groupings[];

/*
 * Fills `out` with the rows of a finished partial. `sort` is "cpu", "total", "count", "errors",
 * "p50", "p95", "p99", "max" or "key"; NULL means the default of the grouping. Equal rows are
 * sorted by key, process and thread. Rows point into the partial, which must outlive them. 0,
 * -EINVAL for an unknown order, or -ENOMEM. Free with rows_free() in any case.
 */
int rows_build(struct rows *out, const struct partial *p, const struct grouping *by,
	       const char *sort);
void rows_free(struct rows *rows);

/* True for a row that counted nothing and took no time: text views leave it out. */
bool row_is_void(const struct row *row);

#endif
