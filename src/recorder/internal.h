/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording, for the files that implement recorder/recorder.h: recorder.c; rotation.c, which
 * ends chunks and begins them; and wait.c, which says for how long there is nothing to do.
 */
#ifndef RECORDER_INTERNAL_H
#define RECORDER_INTERNAL_H

#include "recorder/budget.h"
#include "recorder/chunks.h"
#include "recorder/control.h"
#include "recorder/costs.h"
#include "recorder/detail.h"
#include "recorder/recorder.h"

#define RECORDER_LATENESS_NS                                                                       \
	100000000ull /* how late a record may arrive: its producer was preempted */
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

/* Where records go now. */
struct capture_sink recorder_sink(struct recorder *r);

/* The number of fields so far that capture could not read, or cut. */
u64 recorder_incomplete(const struct recorder *r);

/* Gives the directory its final name, and begins to delete. Done once: later calls do nothing. */
int recorder_settle(struct recorder *r, struct error *e);

/*
 * If an error means that the disk is full, deletes what --keep allows to delete. True if that made
 * room; then the error is cleared. What could not be written is counted as lost.
 */
bool recorder_make_room(struct recorder *r, int err, struct error *e);

/* Records what the recording has cost so far. */
int recorder_tell_costs(struct recorder *r, struct error *e);

/* Ends the chunk at one instant, at which the next one begins. */
int recorder_rotate(struct recorder *r, struct error *e);

/* Writes what the open chunk has up to RECORDER_LATENESS_NS before now. */
int recorder_flush(struct recorder *r, u64 now, struct error *e);

/* Writes a chunk of a flight recorder. A failure is printed, and the recorder goes on. */
void recorder_snapshot(struct recorder *r);

/* Begins or ends a pause, as the budget asks. */
int recorder_follow_pauses(struct recorder *r, struct error *e);

/* Bytes per nanosecond of the open chunk. */
double recorder_pace(const struct recorder *r, u64 now);

#endif
