/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did when a flight recorder's chunk begins. They are looked at when it ends: what
 * that tells holds for the begin only if they did nothing else meanwhile. Else their first records
 * tell it, or nothing does. Start with all zero. Not thread-safe.
 */
#ifndef RECORDER_FLIGHT_FIRST_H
#define RECORDER_FLIGHT_FIRST_H

#include "base/map.h"
#include "record/record.h"

/* By thread, its first record of each kind in the chunk: borrowed. */
struct flight_first {
	struct map any;	 /* also of what others did to it */
	struct map move; /* it got its CPU, or left it */
	struct map own;	 /* that says what it was in */
};

/* A record of the chunk, in any order, that outlives `f`. 0 or -ENOMEM. */
int flight_first_add(struct flight_first *f, const struct record_head *r);
void flight_first_free(struct flight_first *f);

/*
 * From what a thread was in when it was looked at to what it was in at from_ns, or
 * THREAD_LATER if that is not known. Its time stays.
 */
void flight_first_tell(const struct flight_first *f, struct record_thread *th, u64 from_ns);

#endif
