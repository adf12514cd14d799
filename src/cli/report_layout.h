/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of the table of a report: widths of columns, and columns that are left out.
 */
#ifndef CLI_REPORT_LAYOUT_H
#define CLI_REPORT_LAYOUT_H

#include "answer/report.h"
#include "cli/terminal.h"

#define REPORT_RANKS 4 /* p50, p95, p99, max */

struct report_layout {
	int label;	   /* columns of the first column */
	int count, number; /* columns of a count and of a duration, each with the space before it */
	bool ranks[REPORT_RANKS]; /* which are shown */
	bool short_of_ranks;	  /* one of them is left out for lack of room */
	int bar;		  /* columns of the bar */
	int parts;		  /* columns of the text after the bar, with the gap before it */
	unsigned __int128 all_ns; /* by cause: the sum of all rows; else 0 */
};

#define REPORT_GAP 2 /* the gap before the bar, and between the bar and the text after it */

/*
 * Makes the layout of a report. A file gets all columns. On a terminal lines end at its width:
 * first the bar becomes short, then names are cut, then small parts of the split are left out, then
 * p99, then all parts but the largest, then max, p50 and p95.
 */
struct report_layout report_layout_of(const struct report *report, const struct terminal *t);

#endif
