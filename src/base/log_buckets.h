/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers the buckets of a histogram of any range. With `bits`, a value below 2^bits has a bucket
 * of its own. A larger one shares its bucket with those that have the same leading `bits` bits. So
 * a bucket is at most 1 / 2^(bits - 1) of its values wide. Buckets are in the order of their
 * values.
 */
#ifndef BASE_LOG_BUCKETS_H
#define BASE_LOG_BUCKETS_H

#include <stdint.h>

/* So many buckets hold all values of 64 bits. */
#define LOG_BUCKETS(bits) ((1u << (bits)) + (64 - (bits)) * (1u << ((bits)-1)))

static inline uint32_t log_bucket(uint64_t value, unsigned int bits)
{
	uint32_t exact = 1u << bits, half = exact / 2;
	unsigned int shift;

	if (value < exact)
		return (uint32_t)value;
	shift = 64 - (unsigned int)__builtin_clzll(value) - bits;
	return exact + (shift - 1) * half + (uint32_t)(value >> shift) - half;
}

/* The greatest value of a bucket. */
static inline uint64_t log_bucket_end(uint32_t bucket, unsigned int bits)
{
	uint32_t exact = 1u << bits, half = exact / 2;
	unsigned int shift;
	uint64_t lead;

	if (bucket < exact)
		return bucket;
	shift = (bucket - exact) / half + 1;
	lead = (bucket - exact) % half + half;
	return (lead << shift) | ((1ull << shift) - 1);
}

#endif
