/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts readings of the processor's counter, with which programs stamp records, to times.
 *
 * Pairs of the counter and of the host's CLOCK_MONOTONIC are taken whenever records are read, and
 * times between two pairs are interpolated. A pair is exact to about 20 ns, so a time is off by
 * less than 100 ns, and by less than 1 us while the clock is being slewed. Old pairs are thinned
 * out to distances of a third of their age. A record that waited that long to be read is off by a
 * twelfth of what the clock gained meanwhile.
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
	struct counter_pair pairs[COUNTER_PAIRS]; /* in order of time */
	size_t count;
};

/* Adds a pair of now. */
void counter_clock_look(struct counter_clock *clock);

/*
 * Adds a pair that was taken before. If the counter has gone back, as it may after a virtual
 * machine was moved to another host, all earlier pairs are forgotten.
 */
void counter_clock_add(struct counter_clock *clock, struct counter_pair pair);

/* The counter at the last look; 0 before the first. */
static inline u64 counter_clock_newest(const struct counter_clock *clock)
{
	return clock->count ? clock->pairs[clock->count - 1].counter : 0;
}

/* Whether the rate is known: from the first look on that is half a millisecond after another. */
bool counter_clock_is_ready(const struct counter_clock *clock);

/* The time at which the counter has that value. 0: before the host's clock began, or not ready. */
u64 counter_clock_ns(const struct counter_clock *clock, u64 counter);

#endif
