/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes times of what the processor's counter said when programs wrote records: pairs of it and of
 * the host's CLOCK_MONOTONIC are taken about when they are read, and time goes evenly from one pair
 * to the next. A pair is good to some 20 ns, so that a time is off by less than 100 ns, and by less
 * than 1 us while the clock is being slewed. Pairs of longer ago are farther apart, by a third of
 * their age: what waited so long to be read is off by a twelfth of what the clock gained meanwhile.
 *
 * Not thread-safe.
 */
#ifndef CAPTURE_APP_COUNTER_CLOCK_H
#define CAPTURE_APP_COUNTER_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

#define COUNTER_PAIRS 128

struct counter_pair {
	u64 counter, ns;
};

/* Starts with all zero. */
struct counter_clock {
	struct counter_pair pairs[COUNTER_PAIRS]; /* the last one is of the last look */
	size_t count;
};

/* Takes a pair of now. */
void counter_clock_look(struct counter_clock *clock);

/*
 * The same of one that was taken. Has the counter gone back, as it may where a guest was stopped
 * and goes on elsewhere, all before are forgotten.
 */
void counter_clock_add(struct counter_clock *clock, struct counter_pair pair);

/* The last look; 0 before the first. */
static inline u64 counter_clock_newest(const struct counter_clock *clock)
{
	return clock->count ? clock->pairs[clock->count - 1].counter : 0;
}

/* Is a rate known? From a second look half a millisecond after the first one on. */
bool counter_clock_is_ready(const struct counter_clock *clock);

/* When the counter said that, or will say it; 0: before the host began, or it is not ready. */
u64 counter_clock_ns(const struct counter_clock *clock, u64 counter);

#endif
