/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks of waits, and the words of a stack as records have them. */
#ifndef MAP_FACT_STACK_H
#define MAP_FACT_STACK_H

#include <stddef.h>

#include "record/record.h"

/*
 * How many bytes so many packed words take (STACK_PACKED), SIZE_MAX if that is more than there are.
 */
size_t stack_packed_bytes(const char *packed, size_t bytes, u32 words);

/* Writes the words, all of them, of which stack_packed_bytes() has said that they are there. */
void stack_unpack(const char *packed, u32 words, u64 *to);

/* For qsort(), of struct fact_stack: by process, then time. */
int stack_moment_compare(const void *a, const void *b);

#endif
