/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command of --on-chunk.
 */
#ifndef RECORDER_HOOK_H
#define RECORDER_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "chunk/chunk.h"

/*
 * Before hook_run(), once, and before privileges are given up: commands are those of `owner`,
 * NULL: of the real user, and may open as many files as this process may now. They are started on a
 * thread of their own, which keeps of the privileges only what becoming that user asks for. 0 or a
 * negative errno.
 */
int hooks_open(const struct chunk_owner *owner, struct error *e);

/*
 * Starts `sh -c COMMAND` with the path of a sealed chunk as $1 and in
 * FATHOM_CHUNK, as the user of hooks_open(), without capabilities and with no
 * descriptors but the standard ones. Does not wait: at most eight run at once, others
 * begin in hooks_reap() as these end, of which 1,024 wait at most: what comes then is
 * refused, and that is told, as is the first that waits for 10 s. `command` must stay. Thread-safe.
 */
void hook_run(const char *command, const char *path);

/*
 * Reaps those that ended, starts those that wait; a line on stderr for each that failed. Returns
 * how many run or wait.
 */
size_t hooks_reap(void);

/*
 * Waits for all, a minute at most, and until `ends` is true; those that still run then are told.
 * None is started any more.
 */
void hooks_wait(bool (*ends)(void));

#endif
