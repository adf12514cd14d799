/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the watch, for its two files: watch.c has the thread and the events that go in,
 * watch_results.c has what the looks found, until it is told. Nothing else includes it.
 */
#ifndef CAPTURE_WATCH_INTERNAL_H
#define CAPTURE_WATCH_INTERNAL_H

#include <pthread.h>

#include "base/map.h"
#include "base/vec.h"
#include "capture/app/seek.h"
#include "capture/context/tracker.h"
#include "capture/state.h"
#include "capture/watch.h"

/* Something that happened to a process. */
struct watch_event {
	u32 what; /* enum watch_what */
	pid_t pid, parent;
	u64 time_ns; /* of a notice */
};

/* With --spans-only: a process whose context the programs can read, so its spans are recorded. */
struct watch_followed {
	pid_t pid;
	u64 time_ns; /* a time before the look that found its context */
};

/*
 * The mutex guards the events and the results; the gate guards `capture`. No function takes one of
 * them while it holds the other.
 */
struct capture_watch {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;	 /* there is something for the thread */
	pthread_cond_t settled;	 /* `done` has changed */
	u64 pushed, taken, done; /* events; done: all processes in them were looked at once */
	bool stop;
	bool again; /* looks that were skipped are to be tried again */
	VEC(struct watch_event) events;
	VEC(struct app_ring_reached *) reached; /* owned; an element has the rings of one process */
	VEC(pid_t) missed;			/* processes with a ring that is not heard */
	VEC(struct watch_followed) followed;
	VEC(struct record_service *) services; /* owned */
	int ready;   /* one of these has an element; read without the mutex */
	int wake_fd; /* an eventfd, written when `ready` is set */

	u64 missed_count; /* events dropped, and locations not told; atomic */
	u64 unread_count; /* programs whose goroutines cannot be read; atomic */

	pthread_mutex_t gate;
	struct capture *capture; /* NULL: it is being closed */

	/* for the thread that drains */
	bool is_vacant; /* `thread` hangs in a look and was left behind */
	u64 returned;	/* foreign_looks_returned() when it was last asked */

	/* for `thread` alone, until its work is taken from it */
	struct foreign_looks *looks;
	u64 skipped; /* by the tracker, as far as it is in missed_count */
	u64 step_ns; /* a time before the looks of this step */
	struct context_tracker *tracker;
	struct map located; /* processes whose location the programs know */
	bool is_told;	    /* the last location was told, and programs record under spans only */
	struct app_ring_seek *seek;
};

/* Where the tracker and the search for rings put their results. */
struct context_tracker_sink watch_tracker_sink(struct capture_watch *w);
struct app_ring_seek_sink watch_seek_sink(struct capture_watch *w);

/* The process ended: the programs forget its location. For `thread` alone. */
void watch_location_forget(struct capture_watch *w, pid_t pid);

/* The process has a ring that is not heard. */
void watch_ring_missed(struct capture_watch *w, pid_t pid);

/* Hands over the rings that were reached, and those that were missed. For the thread that drains.
 */
void watch_rings_collect(struct capture_watch *w, struct app_rings *rings);

#endif
