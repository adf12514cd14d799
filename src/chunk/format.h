/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a chunk. All numbers are little-endian.
 *
 * Directory `<begin>-<end>-<seq>` (Unix ns with 20 digits, seq with 6):
 *
 *   .manifest    text, see manifest.h; its last line is its own checksum
 *   metadata     CTF 1.8 metadata as text (TSDL), made from the lists of record.h
 *   cpu<n>, life, app-<pid>, late
 *                (in a chunk of thousands of programs one of app-<pid> has the records of many)
 *                streams: packets one after the other; with `.zst` behind the
 *                name the same compressed as one zstd frame
 *
 * While it is written, and after a crash, it is called `.open-<begin>-<seq>`,
 * its manifest says `state=open` and lists no files. A stream is then valid up
 * to its last whole packet: packets are appended, each by one write. Recovery takes out
 * what is damaged between them: packet_seq_num and records_before have a gap there.
 *
 * Packet: 88 bytes of head, events, zeros up to a multiple of 8. At most
 * PACKET_MAX_BYTES, so that a reader's memory is bounded.
 *
 *    at  size
 *     0    4  magic 0xC1FC1FC1
 *     4   16  uuid: the identity of the chunk
 *    20    4  stream id, 0 (there is one stream class)
 *    24    8  timestamp_begin: not after the first event; the low 32 bits of
 *             the events count on from here
 *    32    8  timestamp_end: not before the last event. The stream is complete
 *             up to here
 *    40    8  content_size: bits from 0 to the last byte of the last event
 *    48    8  packet_size: bits with the zeros behind
 *    56    8  events_discarded: records lost in this stream since the begin of
 *             the chunk (sum of its `lost` records but those that say damaged; in the last
 *             packet, too, what no record could tell since the disk was full)
 *    64    8  packet_seq_num: from 0 in each stream
 *    72    8  records_before: records in the packets before, rows of tables not
 *             counted: what a damaged packet took can be told from the next one
 *    80    4  cpu_id: CPU of all its records, 0xffff: none. In cpu<n> it is n, in app-<pid> none
 *    84    4  checksum: CRC-32C of the packet without these four bytes
 *    88       events
 *
 * A stream begins with an empty packet at the cut, events_discarded 0: CTF
 * readers tell losses by differences. A later empty packet of `life` says that
 * all streams have been written up to its end.
 *
 * Event, aligned to 4 bytes:
 *
 *     0    4  low 32 bits of time_ns. An event is less than 2^32 ns after the
 *             one before it (the first: after timestamp_begin), never before it
 *     4    1  kind
 *     5    3  tid
 *     8    4  presence, if the kind has VARs: two bits each, the first lowest:
 *             0: the value is 0; 1: 4 bytes; 2: 8 bytes; 3 is invalid. A signed
 *             value of 4 bytes is sign-extended. Unused bits are 0
 *             FIX fields in the order of the list, of their size, not aligned
 *             u16 for each FILEREF and CTXREF in the order of the list: number
 *             of a row of the packet's table, 0: nothing (all zero)
 *             u16 length of the text, if the kind has TEXT
 *             VAR values in the order of the list
 *             bytes of the text
 *             zeros up to a multiple of 4
 *
 * So the length follows from kind, presence and length of the text.
 *
 * A CPU switches between the same threads again and again. Event `switch_again`, 8 bytes:
 *
 *     0    4  as above
 *     4    1  255
 *     5    1  which switch it is like, but for time_ns and since_ns: the last one of this packet
 *             whose number, modulo 256, is this. Events of kind `switch` count 0, 1, 2 ...
 *     6    2  since_ns
 *
 * Tables of a packet, empty at its begin: `context_entry` and `file_entry`
 * append a row (`index` counts 1, 2, 3 ...) before the first event that uses
 * it; `thread_entry` says the pid of a tid from there on. A tid without a row
 * has pid 0.
 *
 * A packet is valid if its head makes sense and its checksum is right; else a
 * reader skips it and looks for the next magic number. From the first event
 * that breaks a rule above, the rest of a packet is skipped likewise.
 */
#ifndef CHUNK_FORMAT_H
#define CHUNK_FORMAT_H

#include <stddef.h>
#include <string.h>

#include "record/record.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "chunks are little-endian, and written and read in place"
#endif

struct packet_head {
	u32 magic;
	u8 uuid[16];
	u32 stream_id;
	u64 timestamp_begin;
	u64 timestamp_end;
	u64 content_bits;
	u64 packet_bits;
	u64 events_discarded;
	u64 packet_seq;
	u64 records_before;
	u32 cpu_id;
	u32 checksum;
} __attribute__((packed, aligned(8)));

_Static_assert(sizeof(struct packet_head) == 88, "packet head");
_Static_assert(offsetof(struct packet_head, timestamp_begin) == 24, "packet head");
_Static_assert(offsetof(struct packet_head, checksum) == 84, "packet head");

#define PACKET_MAGIC 0xc1fc1fc1u
#define PACKET_HEAD_BYTES 88u
#define PACKET_TARGET_BYTES (128u << 10) /* a writer ends a packet that is this long */
#define PACKET_MAX_BYTES (PACKET_TARGET_BYTES + 8192u)
#define PACKET_SLACK 16u /* bytes behind a packet in memory that may be read and written */
#define PACKET_NO_CPU 0xffffu

/* Longest event with its rows, rounded up: 4,096 bytes of text and change. */
#define EVENT_ROOM 4608u

#define EVENT_SWITCH_AGAIN 255u
#define SWITCHES 256u /* of a packet that may come again: the last so many */

/* ---- sums over the list of a kind ---- */

#define FORMAT_NOTHING(...)
#define FORMAT_ONE(...) +1
#define FORMAT_FIX_BYTES(type, name, what) +sizeof(type)

#define FORMAT_VARS(kind)                                                                          \
	(0u RECORD_APPLY(kind, FORMAT_NOTHING, FORMAT_ONE, FORMAT_NOTHING, FORMAT_NOTHING,         \
			 FORMAT_NOTHING, FORMAT_NOTHING))
#define FORMAT_REFS(kind)                                                                          \
	(0u RECORD_APPLY(kind, FORMAT_NOTHING, FORMAT_NOTHING, FORMAT_NOTHING, FORMAT_ONE,         \
			 FORMAT_ONE, FORMAT_NOTHING))
#define FORMAT_TEXTS(kind)                                                                         \
	(0u RECORD_APPLY(kind, FORMAT_NOTHING, FORMAT_NOTHING, FORMAT_NOTHING, FORMAT_NOTHING,     \
			 FORMAT_NOTHING, FORMAT_ONE))
#define FORMAT_FIXES(kind)                                                                         \
	(0u RECORD_APPLY(kind, FORMAT_FIX_BYTES, FORMAT_NOTHING, FORMAT_NOTHING, FORMAT_NOTHING,   \
			 FORMAT_NOTHING, FORMAT_NOTHING))

/* Bytes of an event without its VAR values and its text. */
#define FORMAT_CHECKPOINT(kind)                                                                    \
	(8u + (FORMAT_VARS(kind) ? 4u : 0u) + FORMAT_FIXES(kind) + 2ul * FORMAT_REFS(kind) +       \
	 2ul * FORMAT_TEXTS(kind))

/* Bits of the presence word that a kind may use. */
#define FORMAT_PRESENCE(kind) ((u32)((1ull << (2 * FORMAT_VARS(kind))) - 1))

static inline unsigned int format_align4(unsigned int bytes)
{
	return (bytes + 3u) & ~3u;
}

_Static_assert(RECORD_KIND_MAX < EVENT_SWITCH_AGAIN, "its number is free");

#define FORMAT_FITS(kind, value, what)                                                             \
	_Static_assert(FORMAT_VARS(kind) <= 16, "presence of " #kind " fits one word");            \
	_Static_assert(FORMAT_TEXTS(kind) <= 1, "text of " #kind);                                 \
	_Static_assert(sizeof(struct record_##kind) + 64 <= EVENT_ROOM, "room of " #kind);
RECORD_KINDS(FORMAT_FITS)
#undef FORMAT_FITS

static inline u16 load16(const void *at)
{
	u16 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline u32 load32(const void *at)
{
	u32 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline u64 load64(const void *at)
{
	u64 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline void store16(void *at, u16 value)
{
	memcpy(at, &value, sizeof(value));
}

static inline void store32(void *at, u32 value)
{
	memcpy(at, &value, sizeof(value));
}

static inline void store64(void *at, u64 value)
{
	memcpy(at, &value, sizeof(value));
}

#endif
