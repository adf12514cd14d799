/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define BUCKETS HISTOGRAM_BUCKETS
#define PAGE HISTOGRAM_PAGE

/*
 * Most histograms have few buckets, which are a sorted list. Many buckets are in pages of
 * neighbours, in which adding takes two loads and no search: the durations of a busy server
 * fall into thousands of buckets, in an order that a processor cannot predict.
 */
#define FEW 64

/* Position of the first bucket whose index is not below the given one. */
static size_t bucket_search(const struct histogram *h, uint32_t index)
{
	size_t low = 0, high = h->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (h->data[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- the list ---- */

static int list_add(struct histogram *h, uint32_t index, uint64_t times)
{
	size_t at = bucket_search(h, index);

	if (at == h->count || h->data[at].index != index) {
		if (vec_reserve(h, 1))
			return -ENOMEM;
		memmove(h->data + at + 1, h->data + at, (h->count - at) * sizeof(*h->data));
		h->data[at] = (struct histogram_bucket){.index = index};
		h->count++;
	}
	h->data[at].count += times;
	return 0;
}

/* ---- the pages ---- */

/* The count of a bucket, in a new page if necessary; NULL: out of memory. */
static uint64_t *pages_count(struct histogram_pages *p, uint32_t index)
{
	uint16_t *number = &p->number[index / PAGE];

	if (!*number) {
		if (vec_push(p, (struct histogram_page){{0}}))
			return NULL;
		*number = (uint16_t)p->count;
	}
	return &p->data[*number - 1].counts[index % PAGE];
}

_Static_assert(BUCKETS % PAGE == 0 && BUCKETS / PAGE < UINT16_MAX, "each page has a number");

static void pages_free(struct histogram_pages *p)
{
	if (p)
		free(p->data);
	free(p);
}

/* Moves all buckets from the list to pages. */
static int pages_begin(struct histogram *h)
{
	struct histogram_pages *p = calloc(1, sizeof(*p));
	size_t i = 0;

	for (; p && i < h->count; i++) {
		uint64_t *count = pages_count(p, h->data[i].index);

		if (!count)
			break;
		*count = h->data[i].count;
	}
	if (!p || i < h->count) {
		pages_free(p);
		return -ENOMEM;
	}
	free(h->data);
	h->data = NULL;
	h->count = h->capacity = 0;
	h->pages = p;
	return 0;
}

static int pages_add(struct histogram_pages *p, uint32_t index, uint64_t times)
{
	uint64_t *count = pages_count(p, index);

	if (!count)
		return -ENOMEM;
	*count += times;
	return 0;
}

/* ---- both ---- */

bool histogram_next(const struct histogram *h, size_t *at, struct histogram_bucket *bucket)
{
	if (!h->pages) {
		if (*at == h->count)
			return false;
		*bucket = h->data[(*at)++];
		return true;
	}
	while (*at < BUCKETS) {
		uint16_t number = h->pages->number[*at / PAGE];
		uint64_t count = number ? h->pages->data[number - 1].counts[*at % PAGE] : 0;

		bucket->index = (uint32_t)*at;
		bucket->count = count;
		*at += number ? 1 : PAGE - *at % PAGE;
		if (count)
			return true;
	}
	return false;
}

static int bucket_add(struct histogram *h, uint32_t index, uint64_t times)
{
	if (h->pages)
		return pages_add(h->pages, index, times);
	if (h->count == FEW && pages_begin(h) == 0)
		return pages_add(h->pages, index, times);
	return list_add(h, index, times);
}

static void values_add(struct histogram *h, uint64_t values, uint64_t min, uint64_t max)
{
	if (h->values == 0 || min < h->min)
		h->min = min;
	if (h->values == 0 || max > h->max)
		h->max = max;
	h->values += values;
}

int histogram_add(struct histogram *h, uint64_t value, uint64_t times)
{
	if (times == 0)
		return 0;
	if (bucket_add(h, histogram_bucket(value), times))
		return -ENOMEM;
	values_add(h, times, value, value);
	return 0;
}

int histogram_count_anew(struct histogram *h, uint32_t bucket)
{
	return bucket_add(h, bucket, 1);
}

/* ---- merge ---- */

static int list_copy(struct histogram *h, const struct histogram *more)
{
	if (vec_reserve(h, more->count))
		return -ENOMEM;
	memcpy(h->data, more->data, more->count * sizeof(*more->data));
	h->count = more->count;
	return 0;
}

static int pages_copy(struct histogram *h, const struct histogram_pages *more)
{
	struct histogram_pages *p = malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = *more;
	p->capacity = p->count;
	p->data = malloc(p->count * sizeof(*p->data) + 1);
	if (!p->data) {
		free(p);
		return -ENOMEM;
	}
	memcpy(p->data, more->data, p->count * sizeof(*p->data));
	h->pages = p;
	return 0;
}

static int pages_merge(struct histogram_pages *p, const struct histogram_pages *more)
{
	size_t missing = 0;

	for (size_t i = 0; i < BUCKETS / PAGE; i++)
		missing += more->number[i] && !p->number[i];
	if (vec_reserve(p, missing))
		return -ENOMEM;
	for (size_t i = 0; i < BUCKETS / PAGE; i++) {
		const struct histogram_page *from;

		if (!more->number[i])
			continue;
		from = &more->data[more->number[i] - 1];
		for (size_t k = 0; k < PAGE; k++)
			if (from->counts[k])
				*pages_count(p, (uint32_t)(i * PAGE + k)) += from->counts[k];
	}
	return 0;
}

/* Merges all buckets at once. -EINVAL: it cannot, and did nothing. */
static int buckets_merge(struct histogram *h, const struct histogram *more)
{
	bool empty = !h->pages && !h->count;

	if (more->pages && h->pages)
		return pages_merge(h->pages, more->pages);
	if (empty)
		return more->pages ? pages_copy(h, more->pages) : list_copy(h, more);
	return -EINVAL;
}

int histogram_merge(struct histogram *h, const struct histogram *more)
{
	struct histogram_bucket b;
	int err;

	if (more->values == 0)
		return 0;
	err = buckets_merge(h, more);
	if (!err)
		values_add(h, more->values, more->min, more->max);
	if (err != -EINVAL)
		return err;
	/* first everything that can fail: an empty bucket changes no answer */
	for (size_t at = 0; histogram_next(more, &at, &b);) {
		if (bucket_add(h, b.index, 0))
			return -ENOMEM;
	}
	for (size_t at = 0; histogram_next(more, &at, &b);)
		bucket_add(h, b.index, b.count);
	values_add(h, more->values, more->min, more->max);
	return 0;
}

static bool buckets_hold(const struct histogram_bucket *buckets, size_t count, uint64_t min,
			 uint64_t max)
{
	return min <= max && buckets[0].index == histogram_bucket(min) &&
	       buckets[count - 1].index == histogram_bucket(max);
}

int histogram_fill(struct histogram *h, const struct histogram_bucket *buckets, size_t count,
		   uint64_t min, uint64_t max)
{
	int err = 0;

	if (count && !buckets_hold(buckets, count, min, max))
		return -EINVAL;
	for (size_t i = 0; i < count && !err; i++) {
		const struct histogram_bucket *b = &buckets[i];

		if (b->index >= BUCKETS || !b->count || (i && b->index <= b[-1].index) ||
		    __builtin_add_overflow(h->values, b->count, &h->values))
			return -EINVAL;
		err = bucket_add(h, b->index, b->count);
	}
	h->min = count ? min : 0;
	h->max = count ? max : 0;
	return err;
}

/*
 * Finds the first bucket, from a position of histogram_next() on, up to which `rank` values lie.
 * `seen` lie before that position.
 */
static bool rank_search(const struct histogram *h, size_t at, uint64_t rank, uint64_t seen,
			struct histogram_bucket *found)
{
	while (histogram_next(h, &at, found)) {
		seen += found->count;
		if (seen >= rank)
			return true;
	}
	return false;
}

static uint64_t page_values(const struct histogram_page *page)
{
	uint64_t values = 0;

	for (size_t i = 0; i < PAGE; i++)
		values += page->counts[i];
	return values;
}

/* Moves behind whole pages with less than `rank` values; returns how many these have. */
static uint64_t pages_skip(const struct histogram_pages *p, uint64_t rank, size_t *at)
{
	uint64_t seen = 0;

	*at = BUCKETS;
	for (size_t i = 0; i < BUCKETS / PAGE; i++) {
		uint64_t values = p->number[i] ? page_values(&p->data[p->number[i] - 1]) : 0;

		if (values && seen + values >= rank) {
			*at = i * PAGE;
			break;
		}
		seen += values;
	}
	return seen;
}

uint64_t histogram_percentile(const struct histogram *h, unsigned int per_10000)
{
	unsigned __int128 wanted = (unsigned __int128)h->values * per_10000;
	uint64_t rank = (uint64_t)((wanted + 9999) / 10000), seen, end;
	struct histogram_bucket b;
	size_t at = 0;

	if (rank == 0)
		rank = 1;
	seen = h->pages ? pages_skip(h->pages, rank, &at) : 0;
	if (!rank_search(h, at, rank, seen, &b))
		return h->max;
	end = log_bucket_end(b.index, HISTOGRAM_BITS);
	return end < h->max ? end : h->max;
}

void histogram_free(struct histogram *h)
{
	if (!h)
		return;
	free(h->data);
	pages_free(h->pages);
	*h = (struct histogram){0};
}
