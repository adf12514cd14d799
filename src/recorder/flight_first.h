/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of threads at the begin of a flight recorder's chunk. A snapshot reads the states at
 * its end. These hold for the begin, too, if the thread did nothing meanwhile. Otherwise the first
 * records of the thread may show its earlier state. Start with all zero. Not thread-safe.
 */
#ifndef RECORDER_FLIGHT_FIRST_H
#define RECORDER_FLIGHT_FIRST_H

#include "base/map.h"
#include "record/record.h"

/* The first records of each thread in the chunk, by tid; borrowed. */
struct flight_first {
	struct map any;	 /* any record, also of an action of another thread */
	struct map move; /* a switch: the thread got its CPU, or left it */
	struct map own;	 /* a record that shows the state before it */
};

/* Adds a record of the chunk, in any order. The record must outlive `f`. 0 or -ENOMEM. */
int flight_first_add(struct flight_first *f, const struct record_head *r);
void flight_first_free(struct flight_first *f);

/*
 * Changes `th`, the state of a thread at the end of the chunk, to its state at from_ns. If that is
 * unknown, sets THREAD_LATER. The time of the record does not change.
 */
void flight_first_state(const struct flight_first *f, struct record_thread *th, u64 from_ns);

#endif
