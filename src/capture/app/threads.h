/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that were last made in other pid namespaces, with the numbers that they have there. A
 * ring that is opened may have records of threads that are gone, whose numbers /proc cannot tell.
 */
#ifndef CAPTURE_APP_THREADS_H
#define CAPTURE_APP_THREADS_H

#include "capture/app/process.h"

#define APP_THREADS_LAST 1024 /* for all processes together */

struct app_thread {
	u32 pid, inner, tid; /* pid 0: the place is empty */
	u64 made_ns;
};

struct app_threads {
	struct app_thread last[APP_THREADS_LAST];
	u32 next;
};

/* Adds a thread, in the place of the oldest. */
void app_threads_note(struct app_threads *threads, const struct app_thread *thread);

/* Tells a process of its threads that were made at or after since_ns, oldest first. */
void app_threads_tell(const struct app_threads *threads, u64 since_ns, struct app_process *process);

#endif
