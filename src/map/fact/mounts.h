/* SPDX-License-Identifier: Apache-2.0 */
/* The mount namespace in which a name of a record holds (MOUNTS_BYTES in record.h). */
#ifndef MAP_FACT_MOUNTS_H
#define MAP_FACT_MOUNTS_H

#include <string.h>

#include "base/hash.h"
#include "record/record.h"

/* Takes the number from behind the name of *bytes bytes; 0, with these as they were: there is none.
 */
static inline u32 mounts_take(const char *name, u16 *bytes)
{
	const char *at = name + *bytes - MOUNTS_BYTES;
	u32 mounts = 0;

	if (*bytes < MOUNTS_BYTES || *at)
		return 0;
	for (int i = 1; i < MOUNTS_BYTES; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = at[i] ? strchr(digits, at[i]) : NULL;

		if (!digit)
			return 0;
		mounts = mounts << 4 | (u32)(digit - digits);
	}
	*bytes -= MOUNTS_BYTES;
	return mounts;
}

/* The hash of a path in its mount namespace. */
static inline u64 mounts_hash(const char *path, u32 mounts)
{
	u64 hash = hash_bytes(path, strlen(path));

	return mounts ? hash_pair(hash, mounts) : hash;
}

#endif
