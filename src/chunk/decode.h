/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event layout -> slot layout. Every byte of a packet is hostile: nothing is
 * read or written outside of the packet and UNPACK_SLACK bytes behind it.
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
	u64 time_ns; /* of the event before, then of the one at `at` */
	u64 end_ns;  /* none may be later */
	u16 cpu;
	u64 rows;	/* of tables, in all packets */
	u32 file_count; /* rows, row 0 not counted */
	u32 file_capacity;
	u32 context_count;
	u32 context_capacity;
	struct file_ref *files; /* row 0 is all zero */
	struct context *contexts;
	struct tid_table threads;
	u32 last_tid, last_pid; /* what was asked of it last */
	u32 switches[SWITCHES]; /* where those are that may come again, from the packet on */
	u32 switch_count;
	union record_any record; /* the one that was taken last */
};

/* Needs memory for the tables: 0 or -ENOMEM. */
int unpacker_init(struct unpacker *u);
void unpacker_free(struct unpacker *u);

/* The memory of its tables. */
size_t unpacker_bytes(const struct unpacker *u);

/* Begins a packet with a checked head, `bytes` long without its zeros. */
void unpacker_begin(struct unpacker *u, const u8 *packet, const struct packet_head *head);

/*
 * Goes to the next record: 1 and u->time_ns is its time, 0 at the end, -EBADMSG
 * if what comes makes no sense (then nothing more can be read), -ENOMEM.
 */
int unpacker_peek(struct unpacker *u);

static inline bool unpacker_at_row(const struct unpacker *u)
{
	unsigned int kind = u->at[4];

	return kind == RECORD_context_entry || kind == RECORD_file_entry ||
	       kind == RECORD_thread_entry;
}

/* Goes to the time of the event at `at`, of which 8 bytes are there; false: it is none. */
static inline bool unpacker_time(struct unpacker *u)
{
	u->time_ns += (u32)(load32(u->at) - (u32)u->time_ns);
	return u->time_ns <= u->end_ns;
}

/* Where a record is next, as unpacker_peek(); false: that has to be asked. */
static inline bool unpacker_peek_quick(struct unpacker *u)
{
	return u->end - u->at >= 8 && !unpacker_at_row(u) && unpacker_time(u);
}

/* Unpacks the record that peek went to, into u->record. 0 or -EBADMSG. */
int unpacker_take(struct unpacker *u);

#endif
