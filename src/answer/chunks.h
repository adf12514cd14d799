/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of a recording as they are listed. */
#ifndef ANSWER_CHUNKS_H
#define ANSWER_CHUNKS_H

#include "answer/source.h"
#include "chunk/chunk.h"

struct chunk_row {
	const char *path; /* borrowed */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t records; /* as many as babeltrace2 counts events */
	uint64_t bytes;
	struct lost_view lost;
	uint64_t incomplete;		     /* fields that are cut or could not be read */
	const char *state;		     /* "sealed", "open" or "recovered" */
	uint64_t begin_unix_ns, end_unix_ns; /* both 0: unknown */
};

/* The row of a chunk, which borrows its path. */
struct chunk_row chunk_row_of(const struct chunk_info *chunk);

#endif
