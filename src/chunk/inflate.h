/* SPDX-License-Identifier: Apache-2.0 */
/* Compressing and reading stream files with zstd, which no other file uses. */
#ifndef CHUNK_INFLATE_H
#define CHUNK_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The maximum of bytes that a reader inflates from all files of a chunk, so that small files cannot
 * cause endless work. A writer does not compress files beyond it. Records compress 5 to 10 fold; a
 * long text that is repeated compresses further. The limit is lower for files that no manifest
 * vouches for: 100 MB of these are read in 10 s.
 */
static inline uint64_t inflate_limit(uint64_t compressed_bytes, bool vouched)
{
	return ((uint64_t)128 << 20) + (vouched ? 100 : 16) * compressed_bytes;
}

/*
 * The maximum of memory for the compressed streams of a chunk with their packets, since a reader
 * reads all streams of a chunk at once. A writer leaves files uncompressed that would exceed it.
 */
#define INFLATING_MAX_BYTES ((uint64_t)2 << 30)

/* The memory, roughly, for reading a compressed stream that has plain_bytes uncompressed. */
static inline uint64_t inflating_bytes(uint64_t plain_bytes)
{
	const uint64_t window = 1 << 20, packets = 544 << 10;

	if (plain_bytes < 16 << 10) /* read in one step */
		return 64 << 10;
	return (plain_bytes < window ? plain_bytes : window) +
	       (plain_bytes < packets ? plain_bytes : packets) + (512 << 10);
}

struct inflater;

/* NULL if out of memory. */
struct inflater *inflater_new(void);
void inflater_free(struct inflater *z);

/* The memory in bytes that it takes now. */
size_t inflater_bytes(const struct inflater *z);

/* The CRC-32C of the compressed bytes read so far. */
uint32_t inflater_crc(const struct inflater *z);

/*
 * Fills `to` from the file, of which *file_at bytes were read before. Returns the bytes
 * produced (fewer than len: the end), or a negative errno. -EBADMSG: damaged.
 */
ssize_t inflater_read(struct inflater *z, int fd, uint64_t *file_at, void *to, size_t len);

/* Compresses a file of `dir` into another, and sets its size and CRC-32C. 0 or negative errno. */
int deflate_file(int dir, const char *from, const char *to, uint64_t *bytes, uint32_t *crc);

#endif
