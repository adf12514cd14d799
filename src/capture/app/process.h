/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates what an application process says about itself: its thread ids
 * are those of its own pid namespace, its times those of its time namespace.
 * It may say anything. Whose a thread was is known from the records of threads (thread_owners.h);
 * of those that are older than the recording one is asked for in /proc once, and one of another
 * pid namespace is looked for among some of the threads at a time, with pauses. What was found
 * holds until the thread ends: its number may then be a stranger's.
 */
#ifndef CAPTURE_APP_PROCESS_H
#define CAPTURE_APP_PROCESS_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/map.h"
#include "capture/app/thread_owners.h"

struct app_process {
	pid_t pid;     /* as capture sees it */
	u32 inner_pid; /* in its own pid namespace */
	bool nested;   /* that is not ours */
	s64 clock_ns;  /* its CLOCK_MONOTONIC is the host's plus this */
	int budget;    /* how often /proc may still be asked until _refill() */
	int pidfd;     /* not owned; -1: whether its number is another's by now cannot be told */
	struct map threads;
	DIR *walk;	 /* over its threads, in the middle of it; or NULL */
	u64 walk_ns;	 /* what it took until now */
	u64 walk_due_ns; /* none begins before */
};

/*
 * Reads what /proc says about a process. 0 with *out the caller's, for
 * app_process_close(), or a negative errno with *out untouched: -ESRCH if the
 * process is gone, -ENOTSUP if its clock cannot be known. Threads may call it
 * at once.
 */
int app_process_open(pid_t pid, struct app_process *out, struct error *e);
void app_process_close(struct app_process *process);

/* Lets /proc be asked again: once for each drain. */
void app_process_refill(struct app_process *process);

/* Says that a thread made at `made_ns` is called `inner` by the process: it need not be asked for.
 */
void app_process_learn(struct app_process *process, u32 inner, u32 tid, u64 made_ns);

/*
 * The thread that the process calls `inner` in a record of `time_ns`, by our clock: 0 if that is
 * none of its threads, or cannot be told. One that nobody has now, and of whose end nothing is
 * known, is believed, for this record alone.
 */
u32 app_process_thread(struct app_process *process, const struct thread_owners *owners, u32 inner,
		       u64 time_ns);

#endif
