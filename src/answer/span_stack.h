/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a wait as it is shown: of the kernel, then of the program, innermost first. */
#ifndef ANSWER_SPAN_STACK_H
#define ANSWER_SPAN_STACK_H

#include "map/partial.h"
#include "span/span.h"
#include "symbol/symbolizer.h"

/*
 * Frames of the stack in which a thread was between two times: `*count` of them,
 * none if none was recorded. *frames is the caller's, to be freed with frames_free().
 * 0 or -ENOMEM.
 */
int frames_make(const struct partial *p, struct symbolizer *symbolizer, const struct kspan *wait,
		struct frame **frames, size_t *count);
void frames_free(struct frame *frames, size_t count);

#endif
