/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slot layout -> event layout, into a packet in memory. Events of a packet are
 * appended in the order of time; the caller ends a packet in time.
 */
#ifndef CHUNK_ENCODE_H
#define CHUNK_ENCODE_H

#include "chunk/format.h"
#include "chunk/tables.h"

/* Where in a packet its last switches are. */
struct packet_switches {
	u32 at[SWITCHES]; /* by number */
	u32 count;
	u8 likely[512][2]; /* by a hash of what they have in common: numbers */
};

struct packet {
	u8 *bytes;    /* the head's place first */
	u32 capacity; /* PACKET_SLACK bytes behind it are there too */
	u32 used;
	u32 unpadded; /* end of the last event without its zeros */
	u32 records;  /* in it, rows of tables not counted */
	u32 events;
	u64 incomplete; /* references for which there was no memory, since packet_init() */
	u64 begin_ns;
	u64 end_ns;
	struct intern_table files;
	struct intern_table contexts;
	struct tid_table threads;
	struct packet_switches switches;
};

void packet_init(struct packet *packet);
void packet_free(struct packet *packet);

/* Begins an empty packet. */
void packet_begin(struct packet *packet);

/*
 * Appends a record of the slot layout: `record` is its whole struct (a text
 * only as long as it says, which is not more than its field holds). 0,
 * -EINVAL if there is no such kind, -ENOMEM.
 */
int packet_add(struct packet *packet, const struct record_head *record);

/*
 * Must a packet end before a record of that time can be added?
 */
static inline bool packet_must_end(const struct packet *packet, u64 time_ns)
{
	return packet->used >= PACKET_TARGET_BYTES || time_ns - packet->end_ns > 0xffffffffu;
}

#endif
