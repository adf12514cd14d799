/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of durations (or any u64) that merges in any grouping.
 *
 * Values up to 2047 are counted exactly; above, a value shares its bucket with
 * those that have the same leading 11 bits, so a percentile is at most one
 * part in 1,024 above the value that it stands for. Count, minimum and maximum
 * are exact. Integers only: the same values give the same answers and the
 * same bytes in whatever order and grouping they came.
 *
 * Start with all zero. Memory: 16 bytes per bucket in use, or, of many buckets, 7 KiB
 * and at most 128 bytes for each. Not thread-safe.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

struct histogram_bucket {
	uint32_t index;
	uint64_t count;
};

struct histogram {
	struct histogram_bucket *data; /* sorted by index; few */
	size_t count;		       /* of them */
	size_t capacity;
	struct histogram_pages *pages; /* instead, when there are many buckets */
	uint64_t values;	       /* how many were added */
	uint64_t min;
	uint64_t max;
};

/* Adds `times` values. 0, or -ENOMEM with the histogram as it was. */
int histogram_add(struct histogram *h, uint64_t value, uint64_t times);

/* Has the memory fetched that histogram_add() of this value needs, which is not waited for. */
void histogram_prefetch(const struct histogram *h, uint64_t value);

/* Adds all values of another one. 0, or -ENOMEM with `h` as it was. */
int histogram_merge(struct histogram *h, const struct histogram *more);

/*
 * The smallest bucket's end below or at which `per_10000` of 10,000 values
 * lie, never above the maximum: 5000 is the median, 10000 the maximum. 0 if
 * there are no values.
 */
uint64_t histogram_percentile(const struct histogram *h, unsigned int per_10000);

void histogram_free(struct histogram *h);

#endif
