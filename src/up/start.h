/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UP_START_H
#define UP_START_H

#include "up/part.h"

/* The exit status of a part that need not be started again. */
#define PART_EXIT_NEVER 77

/*
 * Starts a part as a child, with the user and the rights that it is to have. It dies with its
 * parent. The pid, or a negative errno.
 */
pid_t part_start(struct part_context *c, enum up_part part);

#endif
