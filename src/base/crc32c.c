/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t table[8][256];
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void make_table(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][i] = crc;
	}
	for (unsigned int i = 0; i < 256; i++) {
		for (int t = 1; t < 8; t++)
			table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 0xff];
	}
}

/* Processes eight bytes at a time: table[k] is the effect of a byte k bytes later. */
static uint32_t crc32c_table(uint32_t crc, const unsigned char *at, size_t len)
{
	pthread_once(&table_made, make_table);
	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		word ^= crc;
		crc = 0;
		for (int i = 0; i < 8; i++)
			crc ^= table[7 - i][word >> (8 * i) & 0xff];
	}
	while (len--)
		crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
	return crc;
}

#ifdef __x86_64__
/*
 * The instruction takes three cycles, and a new one can start in each cycle, so three lanes are
 * summed at once. Sums are linear: moving a sum in front of LANE_BYTES more bytes means to run it
 * over zeros.
 */
#define LANE_BYTES 1024u

static uint32_t lane_table[4][256]; /* [k]: the effect of byte k of a sum, LANE_BYTES later */
static pthread_once_t lane_made = PTHREAD_ONCE_INIT;

__attribute__((target("sse4.2"))) static void make_lane_table(void)
{
	for (unsigned int k = 0; k < 4; k++) {
		for (unsigned int i = 0; i < 256; i++) {
			uint64_t crc = (uint64_t)i << (8 * k);

			for (unsigned int at = 0; at < LANE_BYTES; at += 8)
				crc = __builtin_ia32_crc32di(crc, 0);
			lane_table[k][i] = (uint32_t)crc;
		}
	}
}

static uint64_t lane_shift(uint64_t crc)
{
	return lane_table[0][crc & 0xff] ^ lane_table[1][crc >> 8 & 0xff] ^
	       lane_table[2][crc >> 16 & 0xff] ^ lane_table[3][crc >> 24 & 0xff];
}

__attribute__((target("sse4.2"))) static uint64_t crc32c_lanes(uint64_t crc,
							       const unsigned char *at)
{
	uint64_t second = 0, third = 0, words[3];

	for (unsigned int i = 0; i < LANE_BYTES; i += 8) {
		memcpy(&words[0], at + i, 8);
		memcpy(&words[1], at + LANE_BYTES + i, 8);
		memcpy(&words[2], at + 2 * LANE_BYTES + i, 8);
		crc = __builtin_ia32_crc32di(crc, words[0]);
		second = __builtin_ia32_crc32di(second, words[1]);
		third = __builtin_ia32_crc32di(third, words[2]);
	}
	return lane_shift(lane_shift(crc) ^ second) ^ third;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc32,
							       const unsigned char *at, size_t len)
{
	uint64_t crc = crc32;

	if (len >= 3 * LANE_BYTES)
		pthread_once(&lane_made, make_lane_table);
	for (; len >= 3 * LANE_BYTES; at += 3 * LANE_BYTES, len -= 3 * LANE_BYTES)
		crc = crc32c_lanes(crc, at);
	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		crc = __builtin_ia32_crc32di(crc, word);
	}
	crc32 = (uint32_t)crc;
	while (len--)
		crc32 = __builtin_ia32_crc32qi(crc32, *at++);
	return crc32;
}
#endif

/* The product of two polynomials; the highest bit is the coefficient of x^0. */
static uint32_t times(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
		if (a & bit)
			product ^= b;
		b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
	}
	return product;
}

uint32_t crc32c_moved(uint32_t difference, size_t len)
{
	uint32_t power = 1u << 30; /* x, then x^2, x^4 ... */

	for (size_t bits = 8 * len; bits; bits >>= 1) {
		if (bits & 1)
			difference = times(difference, power);
		power = times(power, power);
	}
	return difference;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc32c_sse42(~crc, data, len);
#endif
	return ~crc32c_table(~crc, data, len);
}
