/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes events into records of the slot layout. Every byte of a packet is hostile:
 * nothing is read or written outside of the packet and UNPACK_SLACK bytes after it.
 */
#ifndef CHUNK_DECODE_H
#define CHUNK_DECODE_H

#include "chunk/format.h"
#include "chunk/tables.h"

#define UNPACK_SLACK 160u

union record_any {
	struct record_head head;
#define K(kind, value, what) struct record_##kind kind##_;
	RECORD_KINDS(K)
#undef K
};

struct unpacker {
	const u8 *at; /* the next event */
	const u8 *packet;
	const u8 *end;
	u64 time_ns; /* of the previous event, then of the event at `at` */
	u64 end_ns;  /* no event may be later */
	u16 cpu;
	u64 rows;	/* rows of tables, in all packets */
	u32 file_count; /* rows, row 0 not counted */
	u32 file_capacity;
	u32 context_count;
	u32 context_capacity;
	struct file_ref *files; /* row 0 is all zero */
	struct context *contexts;
	struct tid_table threads;
	u32 last_tid, last_pid; /* the last look-up in `threads` */
	u32 switches[SWITCHES]; /* offsets in the packet of switches that may be repeated */
	u32 switch_count;
	union record_any record; /* the last one that was taken */
};

/* Allocates the tables. 0 or -ENOMEM. */
int unpacker_init(struct unpacker *u);
void unpacker_free(struct unpacker *u);

/* The memory in bytes of the tables. */
size_t unpacker_bytes(const struct unpacker *u);

/* Begins a packet whose head was checked. */
void unpacker_begin(struct unpacker *u, const u8 *packet, const struct packet_head *head);

/*
 * Moves to the next record. 1, with its time in u->time_ns; 0 at the end; -EBADMSG if
 * the data is invalid (nothing more can be read then); -ENOMEM.
 */
int unpacker_peek(struct unpacker *u);

static inline bool unpacker_at_row(const struct unpacker *u)
{
	unsigned int kind = u->at[4];

	return kind == RECORD_context_entry || kind == RECORD_file_entry ||
	       kind == RECORD_thread_entry;
}

/* Sets the time of the event at `at`, which has at least 8 bytes. False: the time is invalid. */
static inline bool unpacker_time(struct unpacker *u)
{
	u->time_ns += (u32)(load32(u->at) - (u32)u->time_ns);
	return u->time_ns <= u->end_ns;
}

/* Does the same as unpacker_peek() in the usual case. False: call unpacker_peek(). */
static inline bool unpacker_peek_quick(struct unpacker *u)
{
	return u->end - u->at >= 8 && !unpacker_at_row(u) && unpacker_time(u);
}

/* Decodes the record that peek moved to, into u->record. 0 or -EBADMSG. */
int unpacker_take(struct unpacker *u);

#endif
