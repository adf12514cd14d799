/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as they are shown: of the kernel, then of the program, innermost first. */
#ifndef ANSWER_SPAN_STACK_H
#define ANSWER_SPAN_STACK_H

#include "map/partial.h"
#include "span/span.h"
#include "symbol/symbolizer.h"

/* Frames, innermost first; to be freed with stack_frames_free(). */
struct stack_frames {
	struct frame *list;
	size_t count;
	bool cut; /* there are more callers, for which too little of the stack was recorded */
};

/*
 * Frames of the stack in which a thread was between two times; none if none was recorded. 0 or
 * -ENOMEM, with *out empty.
 */
int frames_make(const struct partial *p, struct symbolizer *symbolizer, const struct kspan *wait,
		struct stack_frames *out);

/* The same of a sample. */
int frames_of_sample(const struct partial *p, struct symbolizer *symbolizer,
		     const struct sample_sum *sample, struct stack_frames *out);

/* How many stacks of long waits end for want of what was recorded. 0 or -ENOMEM. */
int frames_count_cut(const struct partial *p, u64 *cut);

void stack_frames_free(struct stack_frames *frames);

#endif
