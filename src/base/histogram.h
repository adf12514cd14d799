/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of durations (or any u64) that merges in any grouping.
 *
 * Values up to 2047 are counted exactly. A larger value shares its bucket with the
 * values that have the same leading 11 bits, so a percentile is at most one part in
 * 1,024 above the true value. Count, minimum and maximum are exact. Only integers
 * are used: the same values give the same answers and the same bytes, in whatever
 * order and grouping they are added.
 *
 * Start with all zero. Memory: 16 bytes for each bucket in use or, with many buckets,
 * 7 KiB and at most 128 bytes for each. Not thread-safe.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log_buckets.h"

#define HISTOGRAM_BITS 11
#define HISTOGRAM_BUCKETS LOG_BUCKETS(HISTOGRAM_BITS)
#define HISTOGRAM_PAGE 16

struct histogram_bucket {
	uint32_t index;
	uint64_t count;
};

struct histogram_page {
	uint64_t counts[HISTOGRAM_PAGE];
};

struct histogram_pages {
	uint16_t number[HISTOGRAM_BUCKETS / HISTOGRAM_PAGE]; /* index in data + 1; 0: no page */
	struct histogram_page *data;
	size_t count, capacity;
};

struct histogram {
	struct histogram_bucket *data; /* sorted by index, while there are few */
	size_t count;		       /* buckets in data */
	size_t capacity;
	struct histogram_pages *pages; /* used instead of data when there are many */
	uint64_t values;	       /* number of values */
	uint64_t min;
	uint64_t max;
};

/* Adds a value `times` times. 0, or -ENOMEM with the histogram unchanged. */
int histogram_add(struct histogram *h, uint64_t value, uint64_t times);

/*
 * The same in two steps, for callers with other work to do while the memory of the count is
 * fetched: histogram_note() of a value and, before any other use, histogram_count() of its bucket.
 */
static inline uint32_t histogram_bucket(uint64_t value)
{
	return log_bucket(value, HISTOGRAM_BITS);
}

static inline void histogram_note(struct histogram *h, uint64_t value)
{
	if (h->values == 0 || value < h->min)
		h->min = value;
	if (h->values == 0 || value > h->max)
		h->max = value;
	h->values++;
}

/* The count of a bucket; NULL if it is not in a page yet. */
static inline uint64_t *histogram_paged(const struct histogram *h, uint32_t bucket)
{
	size_t number = h->pages ? h->pages->number[bucket / HISTOGRAM_PAGE] : 0;

	return number ? &h->pages->data[number - 1].counts[bucket % HISTOGRAM_PAGE] : NULL;
}

/* Counts a value in a bucket without a page. 0, or -ENOMEM with the histogram unchanged. */
int histogram_count_anew(struct histogram *h, uint32_t bucket);

static inline int histogram_count(struct histogram *h, uint32_t bucket)
{
	uint64_t *count = histogram_paged(h, bucket);

	if (!count)
		return histogram_count_anew(h, bucket);
	++*count;
	return 0;
}

/* Finds the next bucket in the order of values; *at begins with 0. False at the end. */
bool histogram_next(const struct histogram *h, size_t *at, struct histogram_bucket *bucket);

/*
 * Fills an empty histogram as histogram_next() told it: buckets in their order, each with a count
 * that is not 0, and the minimum and maximum of the values. 0; -EINVAL if no values make such
 * buckets; -ENOMEM. After a failure the histogram is only to be freed.
 */
int histogram_fill(struct histogram *h, const struct histogram_bucket *buckets, size_t count,
		   uint64_t min, uint64_t max);

/* Adds all values of another histogram. 0, or -ENOMEM with `h` unchanged. */
int histogram_merge(struct histogram *h, const struct histogram *more);

/*
 * A percentile: the end of the lowest bucket up to which at least `per_10000` of
 * 10,000 values lie, but never above the maximum. 5000 is the median, 10000 the
 * maximum. 0 if there are no values.
 */
uint64_t histogram_percentile(const struct histogram *h, unsigned int per_10000);

void histogram_free(struct histogram *h);

#endif
