/* SPDX-License-Identifier: Apache-2.0 */
/* Which way bytes go in calls whose result is their number. */
#ifndef MODEL_MOVES_H
#define MODEL_MOVES_H

#include <stdbool.h>

#include "record/record.h"

enum moves { MOVES_NOTHING, MOVES_FROM_FILE, MOVES_TO_FILE };

/* Of a system call, by its 64-bit number: read, recvmsg, ... and write, sendmsg, ... */
enum moves syscall_moves(int nr);

/* The other file of a call that moves data between two descriptors. */
struct other_end {
	u8 argument; /* which one is its descriptor, from 0 */
	enum moves moves;
	bool waits; /* the call's waits for disks, and for pages of files, are its own */
};

/*
 * Whether a call has another file than the one of its record, by its 64-bit number and the kind of
 * that file.
 */
bool syscall_other_end(int nr, u16 kind, struct other_end *end);

/* Of a request to io_uring (IORING_OP_*). */
enum moves uring_moves(u8 opcode);

#endif
