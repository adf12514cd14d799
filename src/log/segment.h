/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment is a file of the log. Its name is the position of its first entry: 16 hex digits and
 * ".log". Numbers are little endian.
 *
 *   offset size
 *        0    8  "fthmlog1"
 *        8    8  position of the first entry
 *       16    4  CRC-32C of the 16 bytes before it
 *       20    4  0
 *       24       entries, one behind the other
 *
 * An entry:
 *        0    4  n: bytes of the entry's contents
 *        4    4  CRC-32C of the contents
 *        8    4  CRC-32C of the entry's position (8 bytes) and the 8 bytes before it
 *       12    n  contents
 *
 * The position of an entry is the position of the segment plus its offset behind the segment's
 * header. Since an entry's checksum covers its position, the bytes of another place are never taken
 * for an entry.
 *
 * A crash leaves an end that is cut, or has blocks of zeros. What follows the last whole entry is
 * cut when the log is opened. Damage elsewhere costs the entries that it hit: a reader looks
 * for the next place where both checksums of an entry are right. The segment's header repeats what
 * the name says, so damage to it costs nothing. A segment and the next one may be synced together:
 * if the machine fails before, both may be cut, and a reader counts what the first one lacks.
 */
#ifndef LOG_SEGMENT_H
#define LOG_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

#define SEGMENT_HEAD_BYTES 24
#define SEGMENT_NAME_BYTES 32
#define ENTRY_HEAD_BYTES 12

/* Positions of the segments of a directory, in order. */
struct segment_list {
	uint64_t *data;
	size_t count;
	size_t capacity;
};

struct segment {
	int fd;
	uint64_t begin; /* position of its first entry */
};

struct segment_buffer {
	unsigned char *data;
	size_t capacity;
};

void segment_name(char name[SEGMENT_NAME_BYTES], uint64_t begin);
int segment_list_read(int dir, struct segment_list *list, struct error *e);

/* Makes a segment, and opens it for writing. It is durable after segment_create_sync(). */
int segment_create(int dir, uint64_t begin, struct segment *out, struct error *e);

/* Makes a new segment durable, with what is in it, and its name in the directory. */
int segment_create_sync(int dir, const struct segment *s);

/* -EPROTONOSUPPORT: it is of a newer version. */
int segment_open(int dir, uint64_t begin, int flags, struct segment *out, struct error *e);

/* The position behind the last byte of the file. */
int segment_end(const struct segment *s, uint64_t *end);

/* Encodes the head of an entry at a position. */
void entry_head_encode(unsigned char head[ENTRY_HEAD_BYTES], uint64_t position, size_t bytes,
		       uint32_t contents_crc);

/*
 * Reads the entry at a position into the buffer: 0 and its length, or -EBADMSG if there is no
 * whole entry that ends at or before `limit`.
 */
int entry_read(const struct segment *s, uint64_t position, uint64_t limit,
	       struct segment_buffer *buffer, size_t *bytes);

/* The position of the first whole entry at or behind `position`; `limit` if there is none. */
int entry_find(const struct segment *s, uint64_t position, uint64_t limit,
	       struct segment_buffer *buffer, uint64_t *found);

#endif
