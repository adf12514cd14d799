/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom capture_look() does not see, though a flight recorder's chunk names them, and what told of
 * them was before: who lived when it begins and has ended since, and who is out of scope.
 */
#ifndef RECORDER_FLIGHT_NAMES_H
#define RECORDER_FLIGHT_NAMES_H

#include "base/map.h"
#include "capture/capture.h"

/* Zeros are none. */
struct flight_names {
	struct map lives;  /* by tid: struct flight_life, owned */
	struct map wakers; /* the same, of those of whom nothing but a name was told */
};

void flight_names_free(struct flight_names *names);

/*
 * A record of the life of threads that lies before the chunk, or is of a snapshot; in the order
 * of time. Others are passed over, and what there is no memory for.
 */
void flight_names_fold(struct flight_names *names, const struct record_head *r);

/*
 * Of an end in the chunk: tells the sink who that is, if it lived when the chunk began, at
 * from_ns. 0 or what the sink said.
 */
int flight_names_tell(struct flight_names *names, const struct record_head *exit, u64 from_ns,
		      const struct capture_sink *to);

/* The same of who woke a thread in the chunk, if that one is out of scope. */
int flight_names_tell_waker(struct flight_names *names, u32 tid, u64 from_ns,
			    const struct capture_sink *to);

#endif
