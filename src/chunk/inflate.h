/* SPDX-License-Identifier: Apache-2.0 */
/* zstd, behind a wall: stream files compressed and read again. */
#ifndef CHUNK_INFLATE_H
#define CHUNK_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Small files must not become endless work: a reader takes no more out of all those of a chunk
 * than this, and what would be larger is not compressed. Records compress 5 to 10 fold, the same
 * long text again and again further; where no manifest vouches for the files, less is believed:
 * 100 MB of them are read in 10 s.
 */
static inline uint64_t inflate_limit(uint64_t compressed_bytes, bool vouched)
{
	return ((uint64_t)128 << 20) + (vouched ? 100 : 16) * compressed_bytes;
}

/*
 * A reader stands in all streams of a chunk at once. What the compressed ones take, with their
 * packets, is limited to this; a writer leaves files as they are that would bring it near.
 */
#define INFLATING_MAX_BYTES ((uint64_t)2 << 30)

/* About what a stream takes while it is read that has so many bytes when it is not compressed. */
static inline uint64_t inflating_bytes(uint64_t plain_bytes)
{
	const uint64_t window = 1 << 20, packets = 544 << 10;

	if (plain_bytes < 16 << 10) /* it is read at once */
		return 64 << 10;
	return (plain_bytes < window ? plain_bytes : window) +
	       (plain_bytes < packets ? plain_bytes : packets) + (512 << 10);
}

struct inflater;

/* NULL if memory ran out. */
struct inflater *inflater_new(void);
void inflater_free(struct inflater *z);

/* The memory that it takes now. */
size_t inflater_bytes(const struct inflater *z);

/* Of what it has read. */
uint32_t inflater_crc(const struct inflater *z);

/*
 * Fills `to` from the file, of which *file_at bytes were taken before: bytes
 * produced (fewer than len: the end), or negative errno. -EBADMSG: damaged.
 */
ssize_t inflater_read(struct inflater *z, int fd, uint64_t *file_at, void *to, size_t len);

/* Compresses a file of `dir` into another: 0 or negative errno; its size and CRC-32C. */
int deflate_file(int dir, const char *from, const char *to, uint64_t *bytes, uint32_t *crc);

#endif
