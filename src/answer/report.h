/* SPDX-License-Identifier: Apache-2.0 */
/* A report: its rows, and what every answer carries. */
#ifndef ANSWER_REPORT_H
#define ANSWER_REPORT_H

#include "answer/rows.h"
#include "answer/source.h"

/* Plain values, borrowed. */
struct report {
	const char *by; /* the name of the grouping */
	uint64_t from_ns;
	uint64_t to_ns;
	struct source_view source;
	const char *sort;	/* the order of the rows */
	const struct row *rows; /* sorted */
	size_t rows_count;
};

#endif
