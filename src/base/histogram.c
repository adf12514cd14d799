/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serialized: varints. Number of buckets; if not 0: min, max, then for each
 * bucket the distance of its index from the previous one's (of the first: the
 * index) and its count. Valid if indexes grow, counts are not 0 and sum to 64
 * bits, and min and max lie in the first and last bucket.
 */
#include "base/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define EXACT_BITS 11
#define EXACT (1u << EXACT_BITS)
#define HALF (EXACT / 2)
#define BUCKETS (EXACT + (64 - EXACT_BITS) * HALF)

static uint32_t bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < EXACT)
		return (uint32_t)value;
	shift = 64 - (unsigned int)__builtin_clzll(value) - EXACT_BITS;
	return EXACT + (shift - 1) * HALF + (uint32_t)(value >> shift) - HALF;
}

/* The largest value of a bucket. */
static uint64_t bucket_end(uint32_t index)
{
	unsigned int shift;
	uint64_t lead;

	if (index < EXACT)
		return index;
	shift = (index - EXACT) / HALF + 1;
	lead = (index - EXACT) % HALF + HALF;
	return (lead << shift) | ((1ull << shift) - 1);
}

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

/*
 * Buckets stay sorted, so that equal contents are equal bytes. New ones become
 * rare soon; where a known one stands is then guessed from the low bits of
 * its index, which costs a comparison instead of a search.
 */
#define HINTS 512
#define HINTS_FROM 32 /* buckets; below a search is as fast */

static size_t bucket_guess(struct histogram *h, uint32_t index)
{
	uint16_t *hint;
	size_t at;

	if (!h->hints) {
		if (h->count < HINTS_FROM)
			return bucket_search(h, index);
		h->hints = calloc(HINTS, sizeof(*h->hints)); /* without it: only slower */
		if (!h->hints)
			return bucket_search(h, index);
	}
	hint = &h->hints[index % HINTS];
	if (*hint < h->count && h->data[*hint].index == index)
		return *hint;
	at = bucket_search(h, index);
	*hint = (uint16_t)at;
	return at;
}

_Static_assert(BUCKETS <= UINT16_MAX, "a hint can name every bucket");

int histogram_add(struct histogram *h, uint64_t value, uint64_t times)
{
	uint32_t index = bucket_of(value);
	size_t at;

	if (times == 0)
		return 0;
	at = bucket_guess(h, index);
	if (at == h->count || h->data[at].index != index) {
		if (vec_reserve(h, 1))
			return -ENOMEM;
		memmove(h->data + at + 1, h->data + at, (h->count - at) * sizeof(*h->data));
		h->data[at] = (struct histogram_bucket){.index = index};
		h->count++;
	}
	h->data[at].count += times;
	if (h->values == 0 || value < h->min)
		h->min = value;
	if (h->values == 0 || value > h->max)
		h->max = value;
	h->values += times;
	return 0;
}

int histogram_merge(struct histogram *h, const struct histogram *more)
{
	struct histogram sum = {0};
	size_t a = 0, b = 0;

	if (more->values == 0)
		return 0;
	if (vec_reserve(&sum, h->count + more->count))
		return -ENOMEM;
	while (a < h->count || b < more->count) {
		struct histogram_bucket *to = &sum.data[sum.count++];

		if (b == more->count || (a < h->count && h->data[a].index < more->data[b].index)) {
			*to = h->data[a++];
		} else if (a == h->count || more->data[b].index < h->data[a].index) {
			*to = more->data[b++];
		} else {
			*to = h->data[a++];
			to->count += more->data[b++].count;
		}
	}
	sum.values = h->values + more->values;
	sum.min = h->values && h->min < more->min ? h->min : more->min;
	sum.max = h->values && h->max > more->max ? h->max : more->max;
	histogram_free(h);
	*h = sum;
	return 0;
}

uint64_t histogram_percentile(const struct histogram *h, unsigned int per_10000)
{
	unsigned __int128 wanted = (unsigned __int128)h->values * per_10000;
	uint64_t rank = (uint64_t)((wanted + 9999) / 10000);
	uint64_t seen = 0;

	if (rank == 0)
		rank = 1;
	for (size_t i = 0; i < h->count; i++) {
		seen += h->data[i].count;
		if (seen >= rank) {
			uint64_t end = bucket_end(h->data[i].index);

			return end < h->max ? end : h->max;
		}
	}
	return h->max;
}

void histogram_write(const struct histogram *h, struct bytes *out)
{
	uint32_t previous = 0;

	bytes_put_varint(out, h->count);
	if (h->count == 0)
		return;
	bytes_put_varint(out, h->min);
	bytes_put_varint(out, h->max);
	for (size_t i = 0; i < h->count; i++) {
		bytes_put_varint(out, h->data[i].index - previous);
		bytes_put_varint(out, h->data[i].count);
		previous = h->data[i].index;
	}
}

static int buckets_read(struct histogram *h, uint64_t count, struct bytes_reader *in)
{
	uint64_t index = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t distance = bytes_get_varint(in);
		uint64_t times = bytes_get_varint(in);

		if (in->failed || (i > 0 && distance == 0) || distance >= BUCKETS || times == 0)
			return -EBADMSG;
		index += distance;
		if (index >= BUCKETS || __builtin_add_overflow(h->values, times, &h->values))
			return -EBADMSG;
		if (vec_push(h, (struct histogram_bucket){(uint32_t)index, times}))
			return -ENOMEM;
	}
	if (h->min > h->max || bucket_of(h->min) != h->data[0].index || bucket_of(h->max) != index)
		return -EBADMSG;
	return 0;
}

int histogram_read(struct histogram *h, struct bytes_reader *in)
{
	struct histogram read = {0};
	uint64_t count = bytes_get_varint(in);
	int err = 0;

	if (in->failed || count > BUCKETS)
		return -EBADMSG;
	if (count > 0) {
		read.min = bytes_get_varint(in);
		read.max = bytes_get_varint(in);
		err = buckets_read(&read, count, in);
	}
	if (err) {
		histogram_free(&read);
		return err;
	}
	*h = read;
	return 0;
}

void histogram_free(struct histogram *h)
{
	if (!h)
		return;
	free(h->data);
	free(h->hints);
	*h = (struct histogram){0};
}
