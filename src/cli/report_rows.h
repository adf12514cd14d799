/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a finished partial to the rows of a report.
 */
#ifndef CLI_REPORT_ROWS_H
#define CLI_REPORT_ROWS_H

#include "base/histogram.h"
#include "base/map.h"
#include "base/vec.h"
#include "cli/report_view.h"
#include "map/partial.h"

/* What rows are made of while they are summed up. */
struct report_group {
	struct report_row row;
	struct histogram durations;
};

struct report_rows {
	VEC(struct report_group *) groups; /* owned */
	VEC(struct report_row) rows;	   /* what report_view.rows points to */
	VEC(char *) texts;		   /* owned */
	struct bytes_map by_key;	   /* identity of a row -> its group */
};

/* A value of --by. */
struct report_grouping {
	const char *name;
	const char *sort; /* the order if none is asked for */
	int (*fill)(struct report_rows *out, const struct partial *p);
};

/* The grouping of that name, NULL if there is none. */
const struct report_grouping *report_grouping_find(const char *name);

/* Names of all, NULL at the end, in the order of the help. */
extern const struct report_grouping report_groupings[];

/*
 * Fills `out` with the rows of a finished partial, sorted by `sort` (NULL: as
 * suits the grouping; "cpu", "total", "count", "errors", "p50", "p95", "p99", "max", "key"; ties by
 * key, process, thread). 0, -EINVAL for an unknown key, -ENOMEM. Free with report_rows_free() in
 * any case.
 */
int report_rows_build(struct report_rows *out, const struct partial *p,
		      const struct report_grouping *by, const char *sort);
void report_rows_free(struct report_rows *rows);

#endif
