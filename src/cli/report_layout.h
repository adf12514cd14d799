/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of the table of a report: widths of columns, and columns that are left out.
 */
#ifndef CLI_REPORT_LAYOUT_H
#define CLI_REPORT_LAYOUT_H

#include "answer/report.h"
#include "cli/terminal.h"

/* The columns of numbers between the count and the bar, in their order. */
enum report_column {
	COLUMN_TOTAL,
	COLUMN_OWN,
	COLUMN_WORK,
	COLUMN_IDLE,
	COLUMN_CPU,
	COLUMN_P50,
	COLUMN_P95,
	COLUMN_P99,
	COLUMN_MAX,
	COLUMN_READ,
	COLUMN_WRITTEN,
	COLUMN_ERRORS,
	REPORT_COLUMNS
};

struct report_layout {
	int label;	   /* columns of the first column */
	int second;	   /* of these, columns of the second of two keys; 0: there is one key */
	int count, number; /* columns of a count and of a number, each with the space before it */
	bool shown[REPORT_COLUMNS];
	bool left_out[REPORT_COLUMNS]; /* for lack of room */
	int bar;		       /* columns of the bar */
	int parts;		  /* columns of the text after the bar, with the gap before it */
	unsigned __int128 all_ns; /* by cause: the sum of all rows, without idle time; else 0 */
};

#define REPORT_GAP                                                                                 \
	2 /* the gap before the bar, between the bar and the text after it, and of keys */

/* The head of the column of counts. */
const char *report_count_name(const struct report *report);

/* The name of a column in its head, and the order of rows (--sort) that it shows. */
const char *report_column_name(enum report_column column);

/* Writes the number of a row in a column, "-" if there is none. Returns `text`. */
char *report_column_text(const struct row *row, enum report_column column, char text[32]);

/*
 * Makes the layout of a report. Where there is idle time, it and the rest (work) have columns, and
 * the total has none. Rows of threads and processes have columns of time on a CPU, others
 * of durations and, if bytes were moved, of these. The column that sorts the rows is always shown.
 * A file gets all columns. On a terminal lines end at its width: first the bar becomes short, then
 * names are cut, then small parts of the split are left out, then p99, then all parts but the
 * largest, then max, p50, p95 and bytes.
 */
struct report_layout report_layout_of(const struct report *report, const struct terminal *t);

#endif
