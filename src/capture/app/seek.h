/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to look for the rings of a process, and which of them are known.
 *
 * A memfd has its name before it is mapped and has its header, so a ring that was seen to be made
 * is looked for again and again, for a second. A process may have one for each copy of libfathom
 * in it. It may also make thousands of that name: it is looked at for a small part of the time
 * only, and has APP_RINGS_OF_PROCESS rings at most.
 *
 * All calls belong to one thread, which drains no ring. With `looks` that thread can be left
 * behind in app_ring_seek_run(), and another goes on: see foreign_look.h. Not thread-safe.
 */
#ifndef CAPTURE_APP_SEEK_H
#define CAPTURE_APP_SEEK_H

#include "capture/app/rings.h"
#include "proc/look.h"

struct app_ring_seek;

struct app_ring_seek_sink {
	void *arg;
	/* Rings of a process, the callee's. */
	void (*reached)(void *arg, pid_t pid, struct app_ring_reached *reached);
	/* It made a ring that is not heard, or not yet. */
	void (*missed)(void *arg, pid_t pid);
	struct foreign_looks *looks; /* what is asked of processes goes through it; may be NULL */
};

/* NULL if there is no memory. The sink is copied. */
struct app_ring_seek *app_ring_seek_new(const struct app_ring_seek_sink *sink);
/* Frees it; NULL is allowed. Nothing is called back. */
void app_ring_seek_free(struct app_ring_seek *seek);

/* What happened to a process, at CLOCK_MONOTONIC now_ns. Without memory nothing comes of it. */
/* It was there when the recording began. */
void app_ring_seek_found(struct app_ring_seek *seek, pid_t pid, u64 now_ns);
/* It made one at made_ns, by the clock of records. */
void app_ring_seek_made(struct app_ring_seek *seek, pid_t pid, u64 made_ns, u64 now_ns);
/* It began another program at time_ns, by the clock of records. */
void app_ring_seek_exec(struct app_ring_seek *seek, pid_t pid, u64 time_ns);
/* It ended: app_ring_seek_run() tells what was not found. */
void app_ring_seek_exit(struct app_ring_seek *seek, pid_t pid);

/*
 * Does what is due at now_ns. Returns when it is to be called again, as CLOCK_MONOTONIC ns,
 * UINT64_MAX if nothing is pending. It is not the calling thread's any more if then
 * foreign_work_is_taken().
 */
u64 app_ring_seek_run(struct app_ring_seek *seek, u64 now_ns);

#endif
