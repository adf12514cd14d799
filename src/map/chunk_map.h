/* SPDX-License-Identifier: Apache-2.0 */
/* map(chunk): what a chunk says, without any other. */
#ifndef MAP_CHUNK_MAP_H
#define MAP_CHUNK_MAP_H

#include "base/error.h"
#include "chunk/chunk.h"
#include "map/partial.h"

/* Which chunk, and how. */
struct chunk_task {
	const struct chunk_info *info;
	u64 covered_ns; /* end of what was recorded before: a gap up to its begin; 0: the first */
	struct partial_options options;
};

/* What was found on the way. */
struct chunk_found {
	struct chunk_lost lost;
	char damage[512]; /* a line without a line break, empty: none */
};

/*
 * Maps a chunk. `found` may be NULL. 0 and *out, which is the caller's, or a
 * negative errno. Threads may map different chunks at once.
 */
int chunk_map(struct partial **out, const struct chunk_task *task, struct chunk_found *found,
	      struct error *e);

#endif
