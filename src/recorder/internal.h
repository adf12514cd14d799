/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording, for the files that implement recorder/recorder.h: recorder.c, and wait.c, which says
 * for how long there is nothing to do.
 */
#ifndef RECORDER_INTERNAL_H
#define RECORDER_INTERNAL_H

#include "recorder/budget.h"
#include "recorder/chunks.h"
#include "recorder/control.h"
#include "recorder/costs.h"
#include "recorder/detail.h"
#include "recorder/recorder.h"

#define RECORDER_FLUSH_NS 200000000ull /* of flushes: at most this much is lost in a crash */

struct recorder {
	struct recorder_options options;
	struct capture *capture;
	struct chunking chunks;
	struct retainer *retainer; /* with options.keep */
	struct control *control;   /* for `fathom rotate` and `fathom snapshot` */
	struct costs costs;
	struct budget budget;
	struct flight *flight; /* of a flight recorder, which opens a chunk only on request */
	struct recording_hold hold;
	const struct chunk_owner *owner; /* static; NULL: the effective user */
	u64 chunk_begin_ns, flushed_ns, begin_ns, end_ns;
	double pace;	    /* of the previous chunk, in bytes per nanosecond */
	bool command_waits; /* the exec of the command is under way */
	int command_failed; /* errno of that exec; 0: it did not fail */
	bool begun;	    /* the directory has its final name */
	bool paused;	    /* by a hard budget: nothing is recorded, and no chunk is open */
	char missing[CHUNK_MISSING_BYTES];
	u32 filters; /* when the open chunk began */
	struct detail detail;
};

/* Bytes per nanosecond of the open chunk. */
double recorder_pace(const struct recorder *r, u64 now);

#endif
