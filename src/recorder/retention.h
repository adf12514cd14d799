/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a recording within the limits of --keep while it goes on, on a thread
 * of its own: what a chunk carries that later ones need is mapped into the
 * checkpoint of the recording before the chunk is deleted, and that takes its time.
 * What it maps others may have written, so the thread has no capability but those
 * which the directory asks for.
 */
#ifndef RECORDER_RETENTION_H
#define RECORDER_RETENTION_H

#include "base/error.h"
#include "base/range.h"
#include "chunk/chunk.h"

struct retainer;

struct retainer_options {
	const char *dir;
	const struct recording_hold *hold; /* borrowed until retainer_close() */
	struct limits keep;
	u64 capabilities; /* what its thread keeps of the caller's, a bit each */
};

/* Starts it. 0 or a negative errno. */
int retainer_open(struct retainer **retainer, const struct retainer_options *options,
		  struct error *e);

/* Why nothing could be deleted the last time: 0, or a negative errno and its causes. Never waits.
 */
int retainer_check(struct retainer *retainer, struct error *e);

/*
 * A chunk was sealed: meets the limits soon, not only at the next second. Never waits: false if it
 * cannot be told now.
 */
bool retainer_wake(struct retainer *retainer);

/* Meets the limits once more, ends the thread, frees. NULL is fine. */
void retainer_close(struct retainer *retainer);

#endif
