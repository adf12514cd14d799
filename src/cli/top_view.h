/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second of a host as it is shown. Plain values, borrowed.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "cli/report_text.h"

struct top_part {
	const char *by;		/* what its rows are: "process" */
	const char *sort;	/* by what they are sorted */
	const struct row *rows; /* in the order in which they are shown */
	size_t rows_count;
};

struct top_view {
	uint64_t from_ns, to_ns;
	struct source_view source;
	const struct top_part *parts;
	size_t parts_count;
};

/* An object on a line of its own. */
void top_write_json(FILE *file, const struct top_view *top);

/*
 * Tables with a bar for each row; `lines` at most, shared out among the
 * parts, 0: as many as there are.
 */
void top_write_text(const struct terminal *t, const struct top_view *top, int lines);

#endif
