/* SPDX-License-Identifier: Apache-2.0 */
/* What the memory behind arguments of calls held, as far as records of other things tell. */
#ifndef ANSWER_SPAN_ARGUMENTS_H
#define ANSWER_SPAN_ARGUMENTS_H

#include "answer/span_builder.h"
#include "model/syscall_format.h"

/*
 * Sets texts in place of addresses: the arguments of an exec, the name of a memory file or a
 * message queue, and the address that a call names. `nr` is the number of the 64-bit call. The
 * texts belong to the builder.
 */
void span_arguments_show(struct span_builder *b, const struct kspan *k, int nr,
			 const char *shown[6]);

#endif
