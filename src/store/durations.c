/* SPDX-License-Identifier: Apache-2.0 */
#include "store/durations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for the buckets from `from` up to before `to`. */
static int range_include(struct durations *d, uint32_t from, uint32_t to)
{
	uint32_t first = d->count && d->first < from ? d->first : from;
	uint32_t end = d->count && d->first + d->count > to ? d->first + d->count : to;
	int64_t *counts;

	if (d->count && first == d->first && end == d->first + d->count)
		return 0;
	counts = calloc(end - first, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	if (d->count)
		memcpy(counts + (d->first - first), d->counts, d->count * sizeof(*counts));
	free(d->counts);
	*d = (struct durations){counts, first, end - first};
	return 0;
}

int durations_add(struct durations *d, uint64_t value_ns, int64_t times)
{
	uint32_t bucket = log_bucket(value_ns, DURATIONS_BITS);
	int err = range_include(d, bucket, bucket + 1);

	if (!err)
		d->counts[bucket - d->first] += times;
	return err;
}

int durations_merge(struct durations *d, const struct durations *more)
{
	int err;

	if (!more->count)
		return 0;
	err = range_include(d, more->first, more->first + more->count);
	if (err)
		return err;
	for (uint32_t i = 0; i < more->count; i++)
		d->counts[more->first + i - d->first] += more->counts[i];
	return 0;
}

bool durations_next(const struct durations *d, size_t *at, uint64_t *end_ns, uint64_t *count)
{
	while (*at < d->count && d->counts[*at] <= 0)
		++*at;
	if (*at >= d->count)
		return false;
	*end_ns = log_bucket_end(d->first + (uint32_t)*at, DURATIONS_BITS);
	*count = (uint64_t)d->counts[(*at)++];
	return true;
}

uint64_t durations_quantile(const struct durations *d, unsigned int per_10000)
{
	uint64_t values = durations_below(d, UINT64_MAX), end_ns = 0, count, seen = 0;
	__uint128_t wanted = ((__uint128_t)values * per_10000 + 9999) / 10000;

	for (size_t at = 0; durations_next(d, &at, &end_ns, &count);) {
		seen += count;
		if (seen >= wanted)
			break;
	}
	return end_ns;
}

uint64_t durations_below(const struct durations *d, uint64_t value_ns)
{
	uint64_t end_ns, count, seen = 0;

	for (size_t at = 0; durations_next(d, &at, &end_ns, &count) && end_ns <= value_ns;)
		seen += count;
	return seen;
}

void durations_put(struct bytes *to, const struct durations *d)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < d->count; i++) {
		if (!d->counts[i])
			continue;
		bytes_put_varint(to, d->first + i - before);
		bytes_put_svarint(to, d->counts[i]);
		before = d->first + i;
	}
}

int durations_get(const void *data, size_t bytes, struct durations *d)
{
	struct bytes_reader r = bytes_reader_over(data, bytes);
	uint64_t bucket = 0;

	while (r.at < r.end) {
		uint64_t distance = bytes_get_varint(&r);
		int64_t times = bytes_get_svarint(&r);
		int err;

		if (r.failed || distance >= DURATIONS_BUCKETS)
			return -EINVAL;
		bucket += distance;
		if (bucket >= DURATIONS_BUCKETS)
			return -EINVAL;
		err = range_include(d, (uint32_t)bucket, (uint32_t)bucket + 1);
		if (err)
			return err;
		d->counts[bucket - d->first] += times;
	}
	return 0;
}

void durations_free(struct durations *d)
{
	free(d->counts);
	*d = (struct durations){0};
}
