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
 * Call this once, before hook_run(), and before privileges are dropped. Commands will run as
 * `owner` (NULL: the real user), and may open as many files as this process may now. A separate
 * thread starts them. It keeps only the privileges that it needs to become that user. 0 or a
 * negative errno.
 */
int hooks_open(const struct chunk_owner *owner, struct error *e);

/*
 * Runs `sh -c COMMAND` with the path of a sealed chunk as $1 and in FATHOM_CHUNK, as the
 * user of hooks_open(), without capabilities, and with only the standard descriptors. Does
 * not wait. At most eight commands run at once; the others start as these end, after
 * hooks_reap(). At most 1,024 chunks wait. Further ones are refused with a message on stderr;
 * another message names the first that has waited for 10 s. `command` is borrowed until the
 * process ends. Thread-safe.
 */
void hook_run(const char *command, const char *path);

/*
 * Reaps the commands that ended, and lets waiting ones start. Prints a line on stderr for each that
 * failed. Returns how many run or wait. Thread-safe.
 */
size_t hooks_reap(void);

/*
 * The CPU time of all commands so far, in nanoseconds; of those that run still, and of what they
 * waited for, in ticks of the kernel (10 ms). Thread-safe.
 */
u64 hooks_cpu_ns(void);

/*
 * Waits until all commands have ended, at most for a minute, or until `ends` returns true. Prints
 * which ones still run then. No further command is started.
 */
void hooks_wait(bool (*ends)(void));

#endif
