/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of recordings that are read together. Each replaces the chunks of its directory
 * that retention has deleted, and those that it was about to delete when a crash came. It can be
 * joined only with chunks that do not overlap its time.
 *
 * If chunks are given and not their directory, the checkpoint of the directory is used, too, unless
 * a chunk between the two is left out: a name can have changed in that chunk.
 */
#ifndef ANSWER_CHECKPOINTS_H
#define ANSWER_CHECKPOINTS_H

#include "base/map.h"
#include "base/notice.h"
#include "base/vec.h"
#include "chunk/checkpoint.h"
#include "map/partial.h"

/* A directory that may have a checkpoint. */
struct checkpoint_place {
	char *dir;		/* owned */
	bool whole;		/* the directory is given; otherwise only chunks in it are */
	struct bytes_map named; /* the names of these chunks */
	struct recording_checkpoint checkpoint; /* without data if there is none */
};

struct checkpoints {
	const char *const *dirs; /* borrowed, with the texts */
	size_t count;
	struct notice notice; /* hears of a checkpoint that cannot be used */
	const struct recording_checkpoint
		*given; /* a checkpoint of the caller, instead of all others; borrowed */
	VEC(struct checkpoint_place) places; /* empty, if one is given */
	size_t begun; /* index of the one that the answer begins with; places.count: none */
};

/*
 * Reads the checkpoints of the recordings, unless one is given (NULL: none). A checkpoint that
 * cannot be read is reported to the notice, and left out. 0 or -ENOMEM. Close it in any case.
 */
int checkpoints_open(struct checkpoints *checkpoints, const struct recording_checkpoint *given);
void checkpoints_close(struct checkpoints *checkpoints);

/*
 * Makes the begin of an answer: *out, which the caller owns, is a partial of the checkpoint before
 * the first chunks, or an empty one. *first is the first chunk that it does not replace. 0 or
 * -ENOMEM.
 */
int checkpoints_begin(struct checkpoints *checkpoints, const struct recording_info *info,
		      const struct partial_options *options, struct partial **out, size_t *first);

/* How far an answer has been merged. */
struct answer_reach {
	size_t next;	/* index of the chunk to merge next */
	u64 covered_ns; /* the time up to which the answer is covered */
};

/*
 * If the chunk reach->next is the first of its directory, merges the checkpoint before it into
 * `into`. The time between the covered time and the chunks that the checkpoint replaces is a gap.
 * Afterwards reach->next is the first chunk that the checkpoint does not replace, and the time up
 * to the end of the checkpoint is covered. A checkpoint that does not fit is reported and left out.
 * 0 or -ENOMEM.
 */
int checkpoints_insert(struct checkpoints *checkpoints, const struct recording_info *info,
		       struct partial *into, struct answer_reach *reach);

#endif
