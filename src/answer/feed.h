/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that goes on, as one answer after the other: each is of the chunks that were sealed
 * since the one before. The caller makes the recorder seal them. Older chunks become a checkpoint
 * in memory, so that an answer knows names and states without reading them again.
 */
#ifndef ANSWER_FEED_H
#define ANSWER_FEED_H

#include "answer/load.h"

struct feed;

struct feed_options {
	const char *dir; /* the recording; copied */
	bool remove;	 /* delete each chunk after its answer; the recording is new and empty */
	struct sum_choice sums; /* what the sums of the answers tell apart */
	struct notice notice;
};

/*
 * Begins to follow a recording: what is sealed already is in no answer. 0 or a negative errno with
 * the causes. Free with feed_close() in any case.
 */
int feed_open(struct feed **out, const struct feed_options *options, struct error *e);

/*
 * Loads the chunks that were sealed since the last call, or since feed_open(). -ENOENT if there are
 * none. Free `out` with source_free() in any case.
 */
int feed_next(struct feed *f, struct source *out, struct error *e);

/*
 * From now on answers have so many of the chunks before, too (0: none, as at first), as far as they
 * were sealed since then; with `spans` they keep each call, fault and wait.
 */
void feed_window(struct feed *f, size_t chunks, bool spans);

/* NULL is allowed. */
void feed_close(struct feed *f);

#endif
