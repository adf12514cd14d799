/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations of contexts, as the kernel programs keep them in their maps (bpf/context.h). May be
 * called by another thread than the one that drains, by one at a time; so may capture_context_set()
 * of capture.h, which stands in the same file.
 */
#ifndef CAPTURE_CONTEXT_LOCATIONS_H
#define CAPTURE_CONTEXT_LOCATIONS_H

#include "capture/capture.h"
#include "capture/context/program.h"

/* Reads what a process executed last, as the programs saw it. False: they did not see it. */
bool capture_context_executed(struct capture *c, pid_t pid, struct context_executed *executed);

/*
 * Adds that a process of the program has its location there: see context/program.h. The programs
 * use it from the next exec of the program on.
 */
void capture_context_learn(struct capture *c, const struct context_program *program,
			   const struct context_location *found);

#endif
