/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoint of a recording: one file with the state that chunks deleted by retention
 * leave for later chunks. Only src/map knows the meaning of its bytes.
 */
#ifndef CHUNK_CHECKPOINT_H
#define CHUNK_CHECKPOINT_H

#include "chunk/chunk.h"

struct recording_checkpoint {
	char boot_id[CHUNK_BOOT_BYTES];
	uint64_t end_ns; /* it replaces all chunks of that boot that end by then */
	void *data;	 /* owned */
	size_t bytes;
};

/*
 * Replaces the checkpoint of the recording in `dir` (through `hold`, which may be NULL), for
 * `owner` (NULL: the owner of the directory). The new one is on the disk when this returns, so the
 * chunks that it replaces may be deleted. 0 or a negative errno.
 */
int recording_checkpoint_write(const char *dir, const struct recording_hold *hold,
			       const struct chunk_owner *owner,
			       const struct recording_checkpoint *checkpoint, struct error *e);

/*
 * Reserves space on the disk for the next checkpoint, which may be larger than this one. Without it
 * nothing could be deleted on a full disk. If there is no space, recording_checkpoint_write() fails
 * later. The next checkpoint uses the space, or it is released.
 */
void recording_checkpoint_reserve(const struct recording_hold *hold,
				  const struct recording_checkpoint *checkpoint);
void recording_checkpoint_release(const struct recording_hold *hold);

/*
 * Reads the checkpoint. 0, -ENOENT if there is none, -EBADMSG if it is damaged, -EFBIG if
 * it is too large, or another negative errno. Free it with recording_checkpoint_free().
 */
int recording_checkpoint_read(const char *dir, const struct recording_hold *hold,
			      struct recording_checkpoint *checkpoint, struct error *e);

void recording_checkpoint_free(struct recording_checkpoint *checkpoint);

#endif
