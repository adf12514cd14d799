/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many durations lie in each of 3,776 buckets, which merge in any grouping.
 *
 * Values below 128 have a bucket each. A larger value shares its bucket with those that have the
 * same leading seven bits, so a quantile is at most 1.6 % above the true value. Counts are signed:
 * a value can be taken out of a sum that does not have it yet. Start with all zero. Memory: 8 bytes
 * for each bucket between the least and the greatest value. Not thread-safe.
 */
#ifndef STORE_DURATIONS_H
#define STORE_DURATIONS_H

#include "base/bytes.h"
#include "base/log_buckets.h"

#define DURATIONS_BITS 7
#define DURATIONS_BUCKETS LOG_BUCKETS(DURATIONS_BITS)

struct durations {
	int64_t *counts; /* of the buckets from `first` on */
	uint32_t first, count;
};

/* Adds a value, or with a negative number takes it out. 0, or -ENOMEM with `d` unchanged. */
int durations_add(struct durations *d, uint64_t value_ns, int64_t times);

/* Adds all values of another. 0, or -ENOMEM with `d` unchanged. */
int durations_merge(struct durations *d, const struct durations *more);

/*
 * The end of the lowest bucket up to which at least `per_10000` of 10,000 values lie: 5000 is the
 * median. 0 if there are no values.
 */
uint64_t durations_quantile(const struct durations *d, unsigned int per_10000);

/* How many values lie in buckets that end at `value_ns` or below. */
uint64_t durations_below(const struct durations *d, uint64_t value_ns);

/*
 * Finds the next bucket with values: *at begins with 0. `end_ns` is the greatest value that the
 * bucket can have. False at the end.
 */
bool durations_next(const struct durations *d, size_t *at, uint64_t *end_ns, uint64_t *count);

/*
 * Writes the buckets with a count, as varints: the distance from the bucket before, or, for the
 * first one, its number; and the count, signed.
 */
void durations_put(struct bytes *to, const struct durations *d);

/* Adds what durations_put() wrote. 0; -EINVAL if nothing writes such bytes; -ENOMEM. */
int durations_get(const void *data, size_t bytes, struct durations *d);

void durations_free(struct durations *d);

#endif
