/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of a recording as they are listed.
 */
#ifndef CLI_CHUNKS_VIEW_H
#define CLI_CHUNKS_VIEW_H

#include "cli/view.h"

struct chunk_row {
	const char *path; /* borrowed */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t records; /* what babeltrace2 counts as events */
	uint64_t bytes;
	struct lost_view lost;
	uint64_t incomplete; /* fields that are cut or could not be read */
	const char *state;   /* "sealed", "open" or "recovered" */
};

/* The JSON of `fathom chunks --json`, with a line for each chunk. */
void chunks_write_json(FILE *file, const struct chunk_row *rows, size_t count);

/* A table and its sums. */
void chunks_write_text(const struct terminal *t, const struct chunk_row *rows, size_t count);

/* The JSON of `fathom rotate --json` and `fathom snapshot --json`. */
void sealed_write_json(FILE *file, const char *path);

#endif
