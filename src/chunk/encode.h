/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes records of the slot layout as events, into a packet in memory. Events of a
 * packet are appended in order of time. The caller ends a packet before it is full.
 */
#ifndef CHUNK_ENCODE_H
#define CHUNK_ENCODE_H

#include "chunk/format.h"
#include "chunk/tables.h"

/* The positions of the last switches of a packet. */
struct packet_switches {
	u32 at[SWITCHES]; /* by number */
	u32 count;
	u8 likely[512][2]; /* numbers, by a hash of the fields that similar switches share */
};

struct packet {
	u8 *bytes;    /* begins with room for the head */
	u32 capacity; /* followed by PACKET_SLACK more bytes */
	u32 used;
	u32 unpadded; /* end of the last event without its padding */
	u32 records;  /* without rows of tables */
	u32 events;
	u64 incomplete; /* references left out for lack of memory, since packet_init() */
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
 * Appends a record of the slot layout. `record` is its complete struct, except that its
 * text need only be as long as its length field, which is not larger than the field. 0,
 * -EINVAL if there is no such kind, or -ENOMEM.
 */
int packet_add(struct packet *packet, const struct record_head *record);

/*
 * Whether the packet must end before a record of that time is added.
 */
static inline bool packet_must_end(const struct packet *packet, u64 time_ns)
{
	return packet->used >= PACKET_TARGET_BYTES || time_ns - packet->end_ns > 0xffffffffu;
}

#endif
