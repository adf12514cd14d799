/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/crc32c.h"

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

/* Eight bytes at a time: table[k] is a byte's effect k bytes further on. */
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
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc32,
							       const unsigned char *at, size_t len)
{
	uint64_t crc = crc32;

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

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc32c_sse42(~crc, data, len);
#endif
	return ~crc32c_table(~crc, data, len);
}
