/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for rings of processes: decides when to look, and remembers which rings are known.
 *
 * A memfd gets its name before it is mapped and has its header. So a ring that was seen being made
 * is looked for repeatedly, for a second. A process has a ring for each copy of libfathom in it. A
 * hostile process may make thousands of files of that name, so each process is looked at for a
 * small part of the time only, and has at most APP_RINGS_OF_PROCESS rings.
 *
 * All calls belong to one thread, which drains no ring. With `looks`, that thread can be left
 * behind in app_ring_seek_run(), and another one goes on: see proc/look.h. Not thread-safe.
 */
#ifndef CAPTURE_APP_SEEK_H
#define CAPTURE_APP_SEEK_H

#include "capture/app/rings.h"
#include "proc/look.h"

struct app_ring_seek;

struct app_ring_seek_sink {
	void *arg;
	/* Rings of a process were opened; they are the callee's. */
	void (*reached)(void *arg, pid_t pid, struct app_ring_reached *reached);
	/* The process made a ring that cannot be listened to, or not yet. */
	void (*missed)(void *arg, pid_t pid);
	struct foreign_looks *looks; /* supervises looks at processes; may be NULL */
};

/* NULL if there is no memory. The sink is copied. */
struct app_ring_seek *app_ring_seek_new(const struct app_ring_seek_sink *sink);
/* Frees it, without calling back. NULL is allowed. */
void app_ring_seek_free(struct app_ring_seek *seek);

/* ---- events of a process, at CLOCK_MONOTONIC now_ns; without memory they are ignored ---- */

/* The process existed when the recording began. */
void app_ring_seek_found(struct app_ring_seek *seek, pid_t pid, u64 now_ns);
/* The process made a ring at made_ns, by the clock of records. */
void app_ring_seek_made(struct app_ring_seek *seek, pid_t pid, u64 made_ns, u64 now_ns);
/* The process executed another program at time_ns, by the clock of records. */
void app_ring_seek_exec(struct app_ring_seek *seek, pid_t pid, u64 time_ns);
/* The process ended. app_ring_seek_run() tells of rings that were not found. */
void app_ring_seek_exit(struct app_ring_seek *seek, pid_t pid);

/*
 * Does the looks that are due at now_ns. Returns when it is to be called again, in CLOCK_MONOTONIC
 * ns; UINT64_MAX if nothing is pending. If foreign_work_is_taken() afterwards, the search belongs
 * to another thread.
 */
u64 app_ring_seek_run(struct app_ring_seek *seek, u64 now_ns);

#endif
