/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far map has come, in the folder `map` of the directory, so that a map that is started again
 * goes on from there:
 *
 *   sent         the boot, and the number of the next chunk whose spans serve does not have
 *   checkpoint   the state at an earlier chunk: which processes there are, and what they are called
 *
 * Chunks are told by their numbers, since the wall clock may be set. What cannot be written is only
 * missed after a restart, so writing reports no errors.
 */
#ifndef UP_PROGRESS_H
#define UP_PROGRESS_H

#include "base/bytes.h"
#include "chunk/chunk.h"
#include "map/handover/handover.h"

/* The state is at least so many chunks old: spans that are open go on with these. */
#define PROGRESS_CHUNKS 30

struct progress {
	int dir; /* -1: there is none */
	char boot_id[CHUNK_BOOT_BYTES];
	bool has_state; /* of this run */
	/* The state that is written next, once it is old enough. */
	struct bytes held;
	u64 held_next, held_end_ns;
};

/* Opens the folder in `parent`, and makes it if it is missing. */
void progress_open(struct progress *p, int parent);
void progress_close(struct progress *p);

/* The number of the next chunk to send; 0 if that is unknown, or of another boot. */
u64 progress_sent(const struct progress *p);
void progress_sent_set(const struct progress *p, u64 next);

/*
 * Begins the hand-over with the state. *next is the number of the first chunk after it, at most
 * `before`, and *end_ns where the state ends. 0, -ENOENT if there is none that fits, or another
 * negative errno with the hand-over as it was.
 */
int progress_begin(struct progress *p, struct handover *h, u64 before, u64 *next, u64 *end_ns);

/* The hand-over has taken this chunk. Now and then, its state is kept. 0 or -ENOMEM. */
int progress_taken(struct progress *p, struct handover *h, const struct chunk_info *info);

#endif
