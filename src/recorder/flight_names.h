/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of threads that a flight recorder's chunk refers to, although capture_look() does not see
 * them and their own records are older than the chunk. These are threads that have ended in the
 * chunk, and wakers out of scope.
 */
#ifndef RECORDER_FLIGHT_NAMES_H
#define RECORDER_FLIGHT_NAMES_H

#include "base/map.h"
#include "capture/capture.h"

/* Start with all zero. */
struct flight_names {
	struct map lives;  /* by tid: struct flight_life, owned */
	struct map wakers; /* the same for threads of which only the name is known */
};

void flight_names_free(struct flight_names *names);

/*
 * Takes a record about the begin, name or end of a thread that lies before the chunk, or is of a
 * snapshot. Records must come in order of time. Other records are ignored, and so is one for which
 * there is no memory.
 */
void flight_names_fold(struct flight_names *names, const struct record_head *r);

/*
 * For the end of a thread in the chunk: hands the records about this thread to the sink, if the
 * thread existed when the chunk began, at from_ns. 0 or the result of the sink.
 */
int flight_names_write(struct flight_names *names, const struct record_head *exit, u64 from_ns,
		       const struct capture_sink *to);

/* The same for a thread that woke another one in the chunk, if it is out of scope. */
int flight_names_write_waker(struct flight_names *names, u32 tid, u64 from_ns,
			     const struct capture_sink *to);

#endif
