/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of executed files, for processes that execute them later: the kernel programs
 * take it at the exec itself (bpf/context_location.h), capture writes it when it has looked.
 *
 * Only a static location is kept: a dynamic one depends on what a process loads as it runs.
 * Nor is anything of a file whose processes were seen to have it at different places.
 */
#ifndef CAPTURE_CONTEXT_PROGRAM_H
#define CAPTURE_CONTEXT_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/context_location.h"

/* Whether both say the same place: what is said of the writer, or is assumed, does not count. */
bool context_location_is_same(const struct context_location *a, const struct context_location *b);

/*
 * Whether a process runs that file by now, as far as its inode and size tell; asks no file
 * server. Threads may call it at once.
 */
bool context_program_is(pid_t pid, const struct context_program *program);

/*
 * What is to be kept of a program of which `kept` is (NULL: nothing), and a process of which was
 * found to have `found` (known = 0: to have none where one was assumed).
 */
struct context_location context_program_learn(const struct context_location *kept,
					      const struct context_location *found);

#endif
