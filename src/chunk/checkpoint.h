/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoint of a recording: one file that holds, of the chunks that retention
 * deleted, what the others need. What its bytes mean is known to src/map.
 */
#ifndef CHUNK_CHECKPOINT_H
#define CHUNK_CHECKPOINT_H

#include "chunk/chunk.h"

struct recording_checkpoint {
	char boot_id[CHUNK_BOOT_BYTES];
	uint64_t end_ns; /* it stands for all chunks of that boot which end by then */
	void *data;	 /* owned */
	size_t bytes;
};

/*
 * Replaces the checkpoint of the recording in `dir` (by way of `hold`, which may be NULL), for
 * `owner` (NULL: that of the directory); it is on the disk when this returns, so what it stands for
 * may be deleted. 0 or a negative errno.
 */
int recording_checkpoint_write(const char *dir, const struct recording_hold *hold,
			       const struct chunk_owner *owner,
			       const struct recording_checkpoint *checkpoint, struct error *e);

/*
 * Keeps room on the disk for the checkpoint that follows this one, which grows: on a full one
 * nothing could be deleted without it. Where there is none, recording_checkpoint_write() says so
 * later. The room goes with the next checkpoint, or is released.
 */
void recording_checkpoint_reserve(const struct recording_hold *hold,
				  const struct recording_checkpoint *checkpoint);
void recording_checkpoint_release(const struct recording_hold *hold);

/*
 * Reads it: 0, -ENOENT if there is none, -EBADMSG if it is damaged, or another
 * negative errno. Free it with recording_checkpoint_free().
 */
int recording_checkpoint_read(const char *dir, const struct recording_hold *hold,
			      struct recording_checkpoint *checkpoint, struct error *e);

void recording_checkpoint_free(struct recording_checkpoint *checkpoint);

#endif
