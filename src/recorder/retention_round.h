/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round of --keep: maps old chunks into the checkpoint of the recording, and deletes them. Where
 * others than the recorder's user may have written the chunks, a process of that user runs the
 * rounds, and answers requests of the recorder: then no privileged process reads what is in them.
 */
#ifndef RECORDER_RETENTION_ROUND_H
#define RECORDER_RETENTION_ROUND_H

#include "recorder/retention.h"

struct retention;

/* The outcome of a round. */
struct retention_result {
	int err; /* 0 or a negative errno; the text says why */
	u64 deleted;
	struct recording_excess excess; /* before it deleted */
	char text[ERROR_TEXT_BYTES];
};

/*
 * Without `by_names` it reads the checkpoint. With it, nothing but names and sizes of chunks is
 * read, so state that only deleted chunks have is lost. 0 or a negative errno.
 */
int retention_open(struct retention **retention, const struct retainer_options *options,
		   bool by_names, struct error *e);

/* Discards a checkpoint that cannot be read. It parses, so call it with few privileges. */
void retention_check(struct retention *retention);

void retention_round(struct retention *retention, struct retention_result *result);

/* NULL is allowed. */
void retention_close(struct retention *retention);

#endif
