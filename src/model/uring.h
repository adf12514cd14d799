/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to io_uring for people. Static strings, no state. */
#ifndef MODEL_URING_H
#define MODEL_URING_H

#include <stddef.h>

#include "record/record.h"

/* "io_uring read": the name of an operation; NULL for a number that no table knows. */
const char *uring_name(u8 opcode);

/* Whether its result is a new descriptor, where it did not go into a slot of the ring. */
int uring_opens(u8 opcode);

/*
 * How it was submitted, IOSQE_* by name ("IOSQE_ASYNC|0x80"), "" for 0. Writes
 * at most size bytes, NUL-terminated if size > 0, and returns the whole length.
 */
size_t uring_flags_format(char *buf, size_t size, u32 submit_flags);

#endif
