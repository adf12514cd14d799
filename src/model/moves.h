/* SPDX-License-Identifier: Apache-2.0 */
/* Which way bytes go in calls whose result is their number. */
#ifndef MODEL_MOVES_H
#define MODEL_MOVES_H

#include "record/record.h"

enum moves { MOVES_NOTHING, MOVES_FROM_FILE, MOVES_TO_FILE };

/* Of a system call, by its 64-bit number: read, recvmsg, ... and write, sendmsg, ... */
enum moves syscall_moves(int nr);

/* Of a request to io_uring (IORING_OP_*). */
enum moves uring_moves(u8 opcode);

#endif
