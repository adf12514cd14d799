/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates thread ids and times that an application process writes. The ids are those of its own
 * pid namespace, and the times those of its time namespace.
 *
 * The process may write anything, so each thread id is checked. Records of threads say which
 * process owned a thread at a time (thread_owners.h). A thread that is older than the recording is
 * looked up in /proc once. A thread of another pid namespace cannot be looked up: a walk over all
 * threads of the process, in steps and with pauses, learns their numbers. What was found holds
 * until the thread ends, since another process may have its number then.
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
	bool nested;   /* that namespace is not ours */
	s64 clock_ns;  /* its CLOCK_MONOTONIC is the host's plus this */
	int budget;    /* how often /proc may be read until app_process_refill() */
	int pidfd;     /* not owned; -1: it cannot be told whether another process has the pid */
	struct map threads; /* inner thread id -> thread */
	DIR *walk;	    /* over its threads, not finished; or NULL */
	u64 walk_ns;	    /* how long this walk took so far */
	u64 walk_due_ns;    /* no walk begins before */
};

/*
 * Reads the namespaces of a process from /proc. 0, and *out is the caller's, for
 * app_process_close(). Or a negative errno, and *out is untouched: -ESRCH if the process is gone,
 * -ENOTSUP if its clock cannot be known. Several threads may call this at once.
 */
int app_process_open(pid_t pid, struct app_process *out, struct error *e);
void app_process_close(struct app_process *process);

/* Allows reading /proc again. To be called once in each drain. */
void app_process_refill(struct app_process *process);

/* Adds that the thread `tid`, made at `made_ns`, is called `inner` by the process. */
void app_process_learn(struct app_process *process, u32 inner, u32 tid, u64 made_ns);

/*
 * Returns the thread that the process calls `inner` in a record of `time_ns`, by our clock. 0 if
 * that is no thread of the process, or cannot be told. A number that no thread has now, and whose
 * end was not seen, is accepted for this record alone.
 */
u32 app_process_thread(struct app_process *process, const struct thread_owners *owners, u32 inner,
		       u64 time_ns);

#endif
