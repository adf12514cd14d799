/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of recordings that are read together: each stands for the chunks of its
 * directory that retention took away, and for those that it was about to take when a crash
 * came. Only what nobody else recorded at the same time can be joined with it.
 *
 * Where chunks are named and not their directory, its checkpoint is taken, too, if none is left out
 * between the two: in what is not read a name can have changed.
 */
#ifndef ANSWER_CHECKPOINTS_H
#define ANSWER_CHECKPOINTS_H

#include "base/map.h"
#include "base/notice.h"
#include "base/vec.h"
#include "chunk/checkpoint.h"
#include "map/partial.h"

/* Where a checkpoint may be. */
struct checkpoint_place {
	char *dir;				/* owned */
	bool whole;				/* it is named, else only chunks in it are */
	struct bytes_map named;			/* the names of these */
	struct recording_checkpoint checkpoint; /* no data: there is none */
};

struct checkpoints {
	const char *const *dirs; /* borrowed, as is what they point to */
	size_t count;
	struct notice notice; /* hears of a checkpoint that cannot be used */
	const struct recording_checkpoint
		*given;			     /* the one of a caller, in place of all; borrowed */
	VEC(struct checkpoint_place) places; /* none, if one is given */
	size_t begun; /* that which the answer begins with; their count: none */
};

/*
 * Reads those of the recordings, unless one is given (NULL: none is). One that cannot be read
 * is told to the notice, and left out. 0 or -ENOMEM. Close it in any case.
 */
int checkpoints_open(struct checkpoints *checkpoints, const struct recording_checkpoint *given);
void checkpoints_close(struct checkpoints *checkpoints);

/*
 * Where an answer begins: *out (the caller's) is a partial of the checkpoint that stands before the
 * first chunks, or an empty one, *first the first chunk that is not in it. 0 or -ENOMEM.
 */
int checkpoints_begin(struct checkpoints *checkpoints, const struct recording_info *info,
		      const struct partial_options *options, struct partial **out, size_t *first);

/* How far an answer is merged. */
struct answer_reach {
	size_t next;	/* chunk that is merged next */
	u64 covered_ns; /* the time up to here is covered */
};

/*
 * Merges the checkpoint that stands before the chunk reach->next, the first of its directory, into
 * `into`: nobody recorded between what is covered and what it stands for. Then reach->next is the
 * first chunk that the checkpoint does not stand for, and the time up to it is covered. A
 * checkpoint that does not fit is told, and left out. 0 or -ENOMEM.
 */
int checkpoints_insert(struct checkpoints *checkpoints, const struct recording_info *info,
		       struct partial *into, struct answer_reach *reach);

#endif
