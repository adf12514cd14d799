/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that were made last in pid namespaces, by the numbers that they have there: a ring
 * that is reached has records of threads that are gone.
 */
#ifndef CAPTURE_APP_THREADS_H
#define CAPTURE_APP_THREADS_H

#include "capture/app/process.h"

#define APP_THREADS_LAST 1024 /* of all processes */

struct app_thread {
	u32 pid, inner, tid; /* pid 0: none */
	u64 made_ns;
};

struct app_threads {
	struct app_thread last[APP_THREADS_LAST];
	u32 next;
};

/* Takes note of one; the oldest is forgotten. */
void app_threads_note(struct app_threads *threads, const struct app_thread *thread);

/* Tells a process those of its threads that were made at or after since_ns, oldest first. */
void app_threads_tell(const struct app_threads *threads, u64 since_ns, struct app_process *process);

#endif
