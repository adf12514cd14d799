/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows where processes keep their context, from what they do.
 *
 * Capture tells it about execs, forks, new executable mappings and names given
 * to memory, as kernel programs see them. It looks at the process when that is
 * worth it, and says what changed. What a look finds unresolved (the loader is
 * still at work) is asked for again, at first after a millisecond and never
 * later than 90.
 *
 * A hostile process can make a look wait (memory served by userfaultfd, files
 * on a file system that does not answer), so all calls belong to one thread
 * that drains no ring. Not thread-safe. With `looks` that thread can be left
 * behind in context_tracker_run(), and another goes on: see foreign_look.h.
 */
#ifndef CAPTURE_CONTEXT_TRACKER_H
#define CAPTURE_CONTEXT_TRACKER_H

#include <sys/types.h>

#include "bpf/context_location.h"
#include "capture/context/process.h"

struct context_tracker_sink {
	void *arg;
	/* The location of a process became known or another; known = 0: lost. */
	void (*set)(void *arg, pid_t pid, const struct context_location *location);
	/* It was found at a place that was not assumed. May be NULL. */
	void (*followed)(void *arg, pid_t pid);
	/*
	 * What a process executed last; false: that was not seen. What the kernel programs assumed
	 * then holds until the process was looked at. May be NULL.
	 */
	bool (*executed)(void *arg, pid_t pid, struct context_executed *executed);
	/* A process of the program has its location there; known = 0: nowhere. May be NULL. */
	void (*learn)(void *arg, const struct context_program *program,
		      const struct context_location *location);
	/* A process published or changed its process context. May be NULL. */
	void (*describe)(void *arg, pid_t pid, const struct process_context *context);
	struct foreign_looks *looks; /* what is asked of processes goes through it; may be NULL */
};

struct context_tracker_counts {
	u64 looks;   /* walks over the mappings of a process */
	u64 asks;    /* of words not yet resolved */
	u64 located; /* calls of set() with a known location */
	u64 refused; /* looks that the kernel did not allow or that failed */
	u64 skipped; /* processes of which something did not answer, each until it does */
};

struct context_tracker;

/* NULL if there is no memory. The sink is copied. */
struct context_tracker *context_tracker_new(const struct context_tracker_sink *sink);
/* Frees it; NULL is allowed. Nothing is called back. */
void context_tracker_free(struct context_tracker *tracker);

/*
 * What happened to a process, at CLOCK_MONOTONIC now_ns. Each returns 0 or
 * -ENOMEM. An exec and a fork may call set() at once, all else is done by
 * context_tracker_run(). What is called back must not call the tracker.
 */
/* It was there when the recording began. */
int context_tracker_found(struct context_tracker *tracker, pid_t pid, u64 now_ns);
/* It runs another program: what was known is void (set() says so if it was known). */
int context_tracker_exec(struct context_tracker *tracker, pid_t pid, u64 now_ns);
/* `child` is a new process of `parent` and inherits its location. */
int context_tracker_fork(struct context_tracker *tracker, pid_t parent, pid_t child, u64 now_ns);
/* It mapped a file as executable: a library, perhaps. */
int context_tracker_mapped(struct context_tracker *tracker, pid_t pid, u64 now_ns);
/* It gave memory a name (PR_SET_VMA): a process context, perhaps. */
int context_tracker_named(struct context_tracker *tracker, pid_t pid, u64 now_ns);
/* It ended. */
void context_tracker_exit(struct context_tracker *tracker, pid_t pid);

/*
 * Does what is due at now_ns. Returns when it is to be called again, as
 * CLOCK_MONOTONIC ns, UINT64_MAX if nothing is pending. The tracker is not the
 * calling thread's any more if then foreign_work_is_taken().
 */
u64 context_tracker_run(struct context_tracker *tracker, u64 now_ns);

/* Something that did not answer may do so now: what was skipped is looked at again. */
void context_tracker_again(struct context_tracker *tracker, u64 now_ns);

void context_tracker_counts(const struct context_tracker *tracker,
			    struct context_tracker_counts *counts);

#endif
