/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes for tables in memory and for derived ids. The same input gives the
 * same value on every little-endian host and in every version: nothing here
 * is seeded.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Mixes all bits of a number into all bits of the result. It is a bijection. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

/* The hash of two numbers; their order matters. */
static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(hash_u64(a + 0x9e3779b97f4a7c15u) ^ b);
}

/* The hash of `len` bytes, which need no alignment. */
uint64_t hash_bytes(const void *data, size_t len);

#endif
