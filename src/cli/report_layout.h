/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the table of a report is laid out: how wide its columns are, and which are left out.
 */
#ifndef CLI_REPORT_LAYOUT_H
#define CLI_REPORT_LAYOUT_H

#include "cli/report_text.h"

#define REPORT_RANKS 4 /* p50, p95, p99, max */

struct report_layout {
	int label;		  /* columns of the first column */
	int count, number;	  /* of the count and of a duration, with the space before it */
	bool ranks[REPORT_RANKS]; /* which are shown */
	bool short_of_ranks;	  /* one is left out for want of room */
	int bar;		  /* columns of the bar */
	int parts;		  /* of what stands behind it, with the gap before it */
	unsigned __int128 all_ns; /* by cause: the sum of all rows; else 0 */
};

#define REPORT_GAP 2 /* before the bar, and between it and what stands behind it */

/*
 * The layout of a report. In a file all columns are there. On a terminal lines end at its width:
 * first the bar is short, then names are cut, then small parts of the split go, then p99, then the
 * last but the largest part, then max, p50 and p95.
 */
struct report_layout report_layout_of(const struct report *report, const struct terminal *t);

#endif
