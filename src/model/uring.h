/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to io_uring as text. Strings are static; all functions are thread-safe. */
#ifndef MODEL_URING_H
#define MODEL_URING_H

#include <stddef.h>

#include "record/record.h"

/* The name of an operation, "io_uring read"; NULL for an unknown number. */
const char *uring_name(u8 opcode);

/* Whether its result is a new descriptor, unless it goes into a slot of the ring. */
int uring_opens(u8 opcode);

/*
 * Writes the IOSQE_* flags of a submission by name ("IOSQE_ASYNC|0x80"), "" for 0. Writes at
 * most size bytes, NUL-terminated if size > 0, and returns the whole length.
 */
size_t uring_flags_format(char *buf, size_t size, u32 submit_flags);

#endif
