/* SPDX-License-Identifier: Apache-2.0 */
/* map(chunk): what a chunk says, without any other. */
#ifndef MAP_CHUNK_MAP_H
#define MAP_CHUNK_MAP_H

#include "base/error.h"
#include "chunk/checkpoint.h"
#include "chunk/chunk.h"
#include "map/partial.h"

/* Which chunk, and how. */
struct chunk_task {
	const struct chunk_info *info;
	struct chunk_reader *reader; /* of it, at its begin; NULL: it is opened by its path */
	bool whole;		     /* fail if a part of it could not be read that may be whole */
	u64 covered_ns; /* to where those before cover: a gap up to its begin; 0: the first */
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

/*
 * Adds to a checkpoint what later chunks need of this one, which follows: afterwards
 * the checkpoint stands for it, too. A checkpoint without data stands for nothing yet; one of
 * another boot, or that cannot be read, is begun anew. A chunk that is gone or damaged
 * beyond reading has nothing to tell: its time becomes a gap. `reader`, which may be NULL, is
 * of it and at its begin. 0, or a negative errno with the checkpoint as it was: also where the
 * chunk may be whole, and could not be read now.
 */
int chunk_absorb(struct recording_checkpoint *checkpoint, const struct chunk_info *info,
		 struct chunk_reader *reader, struct error *e);

#endif
