/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>

uint64_t hash_bytes(const void *data, size_t len)
{
	const unsigned char *at = data;
	uint64_t hash = hash_u64(len + 0x9e3779b97f4a7c15u);
	uint64_t word;

	for (; len >= 8; at += 8, len -= 8) {
		memcpy(&word, at, 8);
		hash = hash_u64(hash ^ word);
	}
	if (len > 0) {
		word = 0;
		memcpy(&word, at, len);
		hash = hash_u64(hash ^ word);
	}
	return hash;
}
