/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one stream of a chunk packet by packet, plain or compressed. The file is open
 * only during a read, so that thousands of streams need no descriptors. It takes the
 * memory of a packet and, with zstd, of a window until the end of the file. The window
 * is 1 MiB if a recorder compressed the file.
 */
#ifndef CHUNK_STREAM_H
#define CHUNK_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "chunk/decode.h"
#include "chunk/manifest.h"

#define STREAM_WINDOW_LOG 20	 /* zstd: the window for writing */
#define STREAM_WINDOW_LOG_MAX 23 /* the largest window for reading, as of `zstd -19` */

struct inflater;

/* The work of all streams of a chunk: a few bytes in thousands of files may demand much. */
struct stream_budget {
	bool vouched;	   /* an intact manifest lists the files */
	uint64_t memory;   /* for compressed streams, now */
	uint64_t deflated; /* bytes read from compressed files */
	uint64_t inflated; /* bytes produced from these */
	uint64_t read;	   /* bytes read from all files */
	uint64_t wasted;   /* bytes checked in vain, which bounds the time */
};

/* A range of a file with valid packets only. */
struct stream_part {
	uint64_t at, bytes;
};

struct stream {
	char name[CHUNK_FILE_NAME_BYTES];
	int dir;      /* borrowed */
	bool growing; /* being written: an incomplete end is not damage */
	bool has_identity;
	uint8_t identity[16]; /* of the chunk; if unknown, of the first packet */
	uint64_t file_at;     /* bytes read of the file */
	uint64_t file_bytes;  /* size of the file in the chunk; 0: unknown */
	uint32_t crc;	      /* of the bytes read; if not compressed, of the valid packets */
	long cpu;	      /* that all packets must have; -1: any */
	bool compressed;
	struct inflater *inflater;    /* compressed: while it is read */
	struct stream_budget *budget; /* borrowed */
	uint64_t held;		      /* the share of this stream in its memory */
	bool uncounted; /* the tables of the current packet are not counted in it yet */
	bool file_ended;
	int read_err; /* of the file, negative */

	u8 *buffer;
	size_t capacity;
	size_t from; /* buffer[from .. to) is not consumed */
	size_t to;

	struct unpacker unpacker;
	bool in_packet;
	uint64_t packets;
	uint64_t first_begin_ns; /* of the first packet */
	uint64_t last_end_ns;	 /* of the previous packet */
	uint64_t empty_ns;	 /* end of the last packet without events, the first excepted */
	uint64_t delivered;	 /* records */
	uint64_t told;		 /* discarded events, by the `lost` records */
	uint64_t discarded;	 /* discarded events, by the last valid packet */
	bool keep;		 /* collect the ranges of valid packets in `kept` */
	VEC(struct stream_part) kept; /* each as long as possible */

	uint64_t damaged;      /* records that are known to be missing */
	uint64_t skipped;      /* bytes since the last valid packet */
	bool truncated_packet; /* the rest of a packet was skipped */
	bool gave_up;
	const char *damage;    /* the reason; NULL: no damage */
	bool hole;	       /* records are missing before the next record, or the end */
	uint64_t hole_from_ns; /* begin of the hole; 0: begin of the stream */
};

/*
 * Opens a stream. `identity` may be NULL. `dir` is borrowed until stream_free(). Set `budget`
 * before reading. A compressed stream beyond INFLATING_MAX_BYTES or inflate_limit() counts as
 * damaged. 0 or a negative errno.
 */
int stream_init(struct stream *s, int dir, const char *name, const uint8_t *identity, bool growing);
void stream_free(struct stream *s);

/*
 * Moves to the next record. 1 (its time is s->unpacker.time_ns), 0 at the end, or -ENOMEM.
 * Damaged parts are skipped and counted.
 */
int stream_peek(struct stream *s);

/* Does the same as stream_peek() in the usual case. False: call stream_peek(). */
static inline bool stream_peek_quick(struct stream *s)
{
	return s->in_packet && !s->uncounted && unpacker_peek_quick(&s->unpacker);
}

/* Counts the record that peek moved to as damaged. */
void stream_untake(struct stream *s);

/* Decodes the record that peek moved to, into s->unpacker.record. False if it is damaged. */
static inline bool stream_take(struct stream *s)
{
	if (__builtin_expect(unpacker_take(&s->unpacker) != 0, 0)) {
		stream_untake(s);
		return false;
	}
	s->delivered++;
	return true;
}

/* Counts the `lost` record that was taken. */
void stream_count_lost(struct stream *s, struct chunk_lost *lost);

/* At the end: counts losses of damaged `lost` records, which later packet heads still contain. */
void stream_count_untold(const struct stream *s, struct chunk_lost *lost);

/*
 * At the end: compares with the number of records in the manifest. Missing records are damaged.
 * `crc` is that of the file; NULL if the file has been replaced by its decompressed form.
 */
void stream_expect(struct stream *s, uint64_t records, const uint32_t *crc);

#endif
