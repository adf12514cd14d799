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

#define HISTOGRAM_EXACT_BITS 11
#define HISTOGRAM_EXACT (1u << HISTOGRAM_EXACT_BITS)
#define HISTOGRAM_HALF (HISTOGRAM_EXACT / 2)
#define HISTOGRAM_BUCKETS (HISTOGRAM_EXACT + (64 - HISTOGRAM_EXACT_BITS) * HISTOGRAM_HALF)
#define HISTOGRAM_PAGE 16

struct histogram_bucket {
	uint32_t index;
	uint64_t count;
};

struct histogram_page {
	uint64_t counts[HISTOGRAM_PAGE];
};

struct histogram_pages {
	uint16_t number[HISTOGRAM_BUCKETS / HISTOGRAM_PAGE]; /* in data, + 1; 0: all are 0 */
	struct histogram_page *data;
	size_t count, capacity;
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

/*
 * The same in steps, for who has other things to do while memory is fetched: histogram_note() of a
 * value and, before anything is asked, histogram_count() of its bucket.
 */
static inline uint32_t histogram_bucket(uint64_t value)
{
	unsigned int shift;

	if (value < HISTOGRAM_EXACT)
		return (uint32_t)value;
	shift = 64 - (unsigned int)__builtin_clzll(value) - HISTOGRAM_EXACT_BITS;
	return HISTOGRAM_EXACT + (shift - 1) * HISTOGRAM_HALF + (uint32_t)(value >> shift) -
	       HISTOGRAM_HALF;
}

static inline void histogram_note(struct histogram *h, uint64_t value)
{
	if (h->values == 0 || value < h->min)
		h->min = value;
	if (h->values == 0 || value > h->max)
		h->max = value;
	h->values++;
}

/* Where a bucket is counted; NULL: not in a page yet. */
static inline uint64_t *histogram_paged(const struct histogram *h, uint32_t bucket)
{
	size_t number = h->pages ? h->pages->number[bucket / HISTOGRAM_PAGE] : 0;

	return number ? &h->pages->data[number - 1].counts[bucket % HISTOGRAM_PAGE] : NULL;
}

/* 0, or -ENOMEM with the histogram as it was. */
int histogram_count_anew(struct histogram *h, uint32_t bucket);

static inline int histogram_count(struct histogram *h, uint32_t bucket)
{
	uint64_t *count = histogram_paged(h, bucket);

	if (!count)
		return histogram_count_anew(h, bucket);
	++*count;
	return 0;
}

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
