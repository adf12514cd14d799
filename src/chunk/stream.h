/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream of a chunk, read packet by packet, plain or compressed. The file
 * is opened for each read only, so that thousands of streams need no
 * descriptors. Memory: a packet, and with zstd a window, of 1 MiB if a recorder compressed it,
 * until the end of the file.
 */
#ifndef CHUNK_STREAM_H
#define CHUNK_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "chunk/decode.h"
#include "chunk/manifest.h"

#define STREAM_WINDOW_LOG 20	 /* zstd: the window that is written */
#define STREAM_WINDOW_LOG_MAX 23 /* the largest that is read: that of `zstd -19` */

struct inflater;

/* What all streams of a chunk take together: a few bytes of thousands of files may ask for much. */
struct stream_budget {
	bool vouched;	   /* a manifest that is whole lists the files */
	uint64_t memory;   /* of compressed ones, now */
	uint64_t deflated; /* bytes read of compressed ones */
	uint64_t inflated; /* that came out of them */
	uint64_t read;	   /* bytes of all files */
	uint64_t wasted;   /* bytes checked in vain: bounds the time */
};

/* Of a file: good packets one behind the other. */
struct stream_part {
	uint64_t at, bytes;
};

struct stream {
	char name[CHUNK_FILE_NAME_BYTES];
	int dir;      /* borrowed */
	bool growing; /* an incomplete end is no damage */
	bool has_identity;
	uint8_t identity[16]; /* of the chunk; of the first packet if it is not known */
	uint64_t file_at;     /* bytes read of the file */
	uint64_t file_bytes;  /* what lies behind is not of the chunk; 0: not known */
	uint32_t crc;	      /* of what was read of it; plain: of its good packets */
	long cpu;	      /* of its packets, -1: of any */
	bool compressed;
	struct inflater *inflater;    /* compressed: while it is read */
	struct stream_budget *budget; /* borrowed */
	uint64_t held;		      /* this one's part of its memory */
	bool uncounted;		      /* the tables of its packet are not in it yet */
	bool file_ended;
	int read_err; /* of the file, negative */

	u8 *buffer;
	size_t capacity;
	size_t from; /* what is not consumed: buffer[from .. to) */
	size_t to;

	struct unpacker unpacker;
	bool in_packet;
	uint64_t packets;
	uint64_t first_begin_ns; /* of the first packet */
	uint64_t last_end_ns;	 /* of the packet before */
	uint64_t empty_ns;	 /* end of the last packet without events, the first excepted */
	uint64_t delivered;	 /* records */
	uint64_t told;		 /* discarded events of its `lost` records */
	uint64_t discarded;	 /* events, by its last good packet */
	bool keep;		 /* collect where good packets lie: */
	VEC(struct stream_part) kept; /* each as long as it can be */

	uint64_t damaged;      /* records that are known to be missing */
	uint64_t skipped;      /* bytes since the last good packet */
	bool truncated_packet; /* the rest of a packet was skipped */
	bool gave_up;
	const char *damage;    /* why, NULL: nothing was damaged */
	bool hole;	       /* something is missing before the next record, or the end */
	uint64_t hole_from_ns; /* since when; 0: since the begin */
};

/*
 * `identity` may be NULL. The stream keeps `dir` and must not outlive it. Its `budget` is to be
 * set before it is read: a compressed one beyond INFLATING_MAX_BYTES or inflate_limit() counts as
 * damaged.
 */
int stream_init(struct stream *s, int dir, const char *name, const uint8_t *identity, bool growing);
void stream_free(struct stream *s);

/*
 * Goes to the next record: 1 (its time is s->unpacker.time_ns), 0 at the end,
 * or -ENOMEM. Damage is skipped and counted.
 */
int stream_peek(struct stream *s);

/* Where another record of its packet is next, as stream_peek(); false: that has to be asked. */
static inline bool stream_peek_quick(struct stream *s)
{
	return s->in_packet && !s->uncounted && unpacker_peek_quick(&s->unpacker);
}

/* The record that peek went to is damaged. */
void stream_untake(struct stream *s);

/* Unpacks the record that peek went to: true and s->unpacker.record, false if it is damaged. */
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

/* At the end: what damaged ones had told, which the head of a packet behind them says. */
void stream_count_untold(const struct stream *s, struct chunk_lost *lost);

/*
 * At the end: what the manifest says the stream has. The rest is damaged. `crc` is that of its
 * file, NULL if the file is another one (it was decompressed).
 */
void stream_expect(struct stream *s, uint64_t records, const uint32_t *crc);

#endif
