/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Calls of which a record says what the memory behind an argument holds. It has this in the last of
 * its six arguments, which these calls do not have. Where they are 0, it is not known. No contents
 * are recorded: of a poll the descriptors and what is asked of them, of a vector the sizes.
 *
 * M(x, call, what, which, from): argument `which`, counted from 0, is the address, and the next one
 * the number of elements. The arguments of the record have elements, beginning with `from`.
 * - polled: a struct pollfd of 8 bytes in each argument. If there are more than fit, those that are
 *   ready or, if none is, the first ones.
 * - vector: two sizes in each argument, the first in the lower half: each 1 more than it is, and
 *   0xffffffff for 4 GB and more.
 */
#ifndef RECORD_CALL_MEMORY_H
#define RECORD_CALL_MEMORY_H

#include "record/syscalls.h"

#define RECORD_CALL_MEMORY(M, x)                                                                   \
	M(x, poll, polled, 0, 3)                                                                   \
	M(x, ppoll, polled, 0, 5)                                                                  \
	M(x, readv, vector, 1, 3)                                                                  \
	M(x, writev, vector, 1, 3)                                                                 \
	M(x, preadv, vector, 1, 4)                                                                 \
	M(x, pwritev, vector, 1, 4)

#define CALL_MEMORY_polled 1
#define CALL_MEMORY_vector 2

#define CALL_MEMORY_ARGS 6
#define CALL_MEMORY_SIZE_MAX 0xffffffffu

/* Beside the number of a call's arguments in a table. */
#define CALL_HAS_MEMORY 8

#define CALL_MEMORY_IS(nr, call, what, which, from) || (nr) == SYSCALL_NR_##call
#define CALL_MEMORY_NARGS_ROW(nr, name, nargs, fd, classes, kinds)                                 \
	[nr] = (0 RECORD_CALL_MEMORY(CALL_MEMORY_IS, nr)) ? CALL_HAS_MEMORY | (nargs) : (nargs),

/* For a table of u8: the number of arguments of a call, and CALL_HAS_MEMORY. */
#define CALL_MEMORY_NARGS_INIT                                                                     \
	{                                                                                          \
		RECORD_SYSCALLS(CALL_MEMORY_NARGS_ROW) SYSCALL_NARGS_OF_OTHERS                     \
	}

#endif
