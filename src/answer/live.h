/* SPDX-License-Identifier: Apache-2.0 */
/* A short time of a recording that goes on, summed up in several ways at once. */
#ifndef ANSWER_LIVE_H
#define ANSWER_LIVE_H

#include "answer/rows.h"
#include "answer/source.h"

struct live_part {
	const char *by;		/* the name of a grouping */
	const char *sort;	/* the order of the rows */
	const struct row *rows; /* sorted */
	size_t rows_count;
};

/* Plain values, borrowed. */
struct live {
	uint64_t from_ns, to_ns;
	struct source_view source;
	const struct live_part *parts;
	size_t parts_count;
};

#endif
