/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a running recording within the limits of --keep, on a separate thread. Before a
 * chunk is deleted, it is mapped into the checkpoint of the recording, which keeps what
 * later chunks need; that takes time. The chunk may have been written by others, so the
 * thread has only the capabilities that the directory requires. Where those others have another
 * user, a process of that user does it (`helper`).
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
	const char *host; /* the name that this host was given; NULL: none */
	u64 capabilities; /* that the thread keeps of the caller's, one bit each */
	/*
	 * A socket of messages to a process in retention_serve(), which stays the caller's; 0:
	 * none. If that process ends, chunks are deleted by their names and sizes, and nothing in
	 * them is read.
	 */
	int helper;
};

/*
 * Runs a round for each request that comes from retainer_open() of another process, until the
 * socket is closed there. Call it with the rights of the user of the directory. `hold` is that of
 * the recorder. 0 or a negative errno.
 */
int retention_serve(const struct retainer_options *options, int fd);

/* Starts the thread. 0 or a negative errno. Free it with retainer_close(). */
int retainer_open(struct retainer **retainer, const struct retainer_options *options,
		  struct error *e);

/*
 * Tells how many chunks were sealed so far. After another one the thread applies the limits soon,
 * not only at the next second. Never waits.
 */
void retainer_follow(struct retainer *retainer, u64 sealed);

/* Prints why chunks cannot be deleted, each reason once: the recording goes on. Never waits. */
void retainer_report(struct retainer *retainer);

/*
 * The disk is full: applies the limits, and waits until that is done, for ten seconds at most. True
 * if a chunk was deleted.
 */
bool retainer_make_room(struct retainer *retainer);

/* Applies the limits once more, ends the thread, and frees. NULL is allowed. */
void retainer_close(struct retainer *retainer);

#endif
