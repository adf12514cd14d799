/* SPDX-License-Identifier: Apache-2.0 */
/* What the memory behind arguments of calls held, as far as records of other things tell. */
#ifndef ANSWER_SPAN_ARGUMENTS_H
#define ANSWER_SPAN_ARGUMENTS_H

#include "answer/span_builder.h"
#include "model/syscall_format.h"

/*
 * Sets texts in place of addresses: the arguments of an exec, the name of a memory file or a
 * message queue, the address that a call names, the descriptors of a poll, and the sizes of a
 * vector. `nr` is the number of the 64-bit call. The texts belong to the builder.
 */
void span_arguments_show(struct span_builder *b, const struct kspan *k, int nr,
			 const char *shown[6]);

/* The descriptors that were ready when a poll ended; NULL: none, or they are not known. */
const char *span_arguments_ready(struct span_builder *b, const struct kspan *k, int nr);

#endif
