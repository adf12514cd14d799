/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a wait as it is shown: of the kernel, then of the program, innermost first. */
#ifndef CLI_FRAMES_H
#define CLI_FRAMES_H

#include "cli/trace_view.h"
#include "map/partial.h"
#include "symbol/symbolizer.h"

/*
 * Frames of the stack in which a thread was between two times: `*count` of them,
 * none if none was recorded. *frames is the caller's, to be freed with frames_free().
 * 0 or -ENOMEM.
 */
int frames_make(const struct partial *p, struct symbolizer *symbolizer, const struct kspan *wait,
		struct frame_view **frames, size_t *count);
void frames_free(struct frame_view *frames, size_t count);

#endif
