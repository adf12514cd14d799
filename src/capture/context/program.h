/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations of contexts by executed file, for processes that execute the file later. Capture adds a
 * location when it has looked at a process; the kernel programs take it over at the exec
 * (bpf/context_location.h).
 *
 * Only static locations are kept, since a dynamic one depends on the libraries that a process
 * loads. If processes of a file had the variable at different places, nothing is kept of it. The
 * location of light threads is that of the file.
 */
#ifndef CAPTURE_CONTEXT_PROGRAM_H
#define CAPTURE_CONTEXT_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/context_location.h"

/* Whether both have their context at the same place. Flags and light threads are not compared. */
bool context_location_is_same(const struct context_location *a, const struct context_location *b);

/*
 * Whether a process runs that file now, by its inode and size. Does not ask the file system, so it
 * cannot hang. Several threads may call this at once.
 */
bool context_program_is(pid_t pid, const struct context_program *program);

/*
 * Returns the location to keep for a program. `kept` is the one that was kept so far (NULL: none).
 * `found` is that of a process of the program; known = 0: the process had none where one was
 * assumed.
 */
struct context_location context_program_learn(const struct context_location *kept,
					      const struct context_location *found);

#endif
