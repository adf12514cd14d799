/* SPDX-License-Identifier: Apache-2.0 */
/* map(chunk): what a chunk says, without any other. */
#ifndef MAP_CHUNK_MAP_H
#define MAP_CHUNK_MAP_H

#include "base/error.h"
#include "chunk/checkpoint.h"
#include "chunk/chunk.h"
#include "map/partial.h"

/* The chunk to map, and how to map it. */
struct chunk_task {
	const struct chunk_info *info;
	struct chunk_reader
		*reader; /* a reader at the begin of the chunk; NULL: it is opened by its path */
	bool whole;	 /* fail if a part that may be whole could not be read */
	u64 covered_ns;	 /* end of the chunks before: from there to its begin is a gap; 0: the first
			  */
	struct partial_options options;
};

/* Findings that are no failure. */
struct chunk_found {
	struct chunk_lost lost;
	char damage[512]; /* one line without a line break; empty: no damage */
};

/*
 * Maps a chunk. `found` may be NULL. 0 and *out, which is the caller's, or a
 * negative errno. Threads may map different chunks at once.
 */
int chunk_map(struct partial **out, const struct chunk_task *task, struct chunk_found *found,
	      struct error *e);

/*
 * Adds to a checkpoint what later chunks need of the next chunk: afterwards the checkpoint stands
 * for that chunk, too. A checkpoint without data stands for nothing yet. A checkpoint of another
 * boot, or that cannot be read, is begun anew. A chunk that is gone or damaged beyond reading
 * becomes a gap. `reader`, which may be NULL, is at the begin of the chunk. 0, or a negative errno
 * with the checkpoint as it was; a chunk that may be whole but could not be read now is a failure.
 */
int chunk_absorb(struct recording_checkpoint *checkpoint, const struct chunk_info *info,
		 struct chunk_reader *reader, struct error *e);

#endif
