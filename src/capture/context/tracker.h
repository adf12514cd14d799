/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows where processes keep their context, and where they tell their goroutines.
 *
 * Capture tells the tracker of execs, forks, new executable mappings and names given to memory, as
 * the kernel programs see them. The tracker looks at the process when that may give something new,
 * and tells what changed. A location that is not resolved yet, since the loader is still at work,
 * is asked for again: first after 1 ms, and later at most 90 ms apart.
 *
 * A hostile process can make a look hang, with memory that userfaultfd serves or with files on a
 * file system that does not answer. So all calls belong to one thread that drains no ring. With
 * `looks`, that thread can be left behind in context_tracker_run(), and another one goes on: see
 * proc/look.h. Not thread-safe.
 */
#ifndef CAPTURE_CONTEXT_TRACKER_H
#define CAPTURE_CONTEXT_TRACKER_H

#include <sys/types.h>

#include "bpf/context_location.h"
#include "capture/context/process.h"

struct context_tracker_sink {
	void *arg;
	/* The location of a process has changed. known = 0: the process has no context any more. */
	void (*set)(void *arg, pid_t pid, const struct context_location *location);
	/* The location is another one than was assumed or known. May be NULL. */
	void (*followed)(void *arg, pid_t pid);
	/*
	 * Asks what a process executed last; false: the exec was not seen. The location that the
	 * kernel programs assumed then holds until the process was looked at. May be NULL.
	 */
	bool (*executed)(void *arg, pid_t pid, struct context_executed *executed);
	/* A process of the program has that location; known = 0: none. May be NULL. */
	void (*learn)(void *arg, const struct context_program *program,
		      const struct context_location *location);
	/* A process published or changed its process context. May be NULL. */
	void (*describe)(void *arg, pid_t pid, const struct process_context *context);
	struct foreign_looks *looks; /* supervises looks at processes; may be NULL */
};

struct context_tracker_counts {
	u64 looks;   /* walks over the mappings of a process */
	u64 asks;    /* reads of the words that the loader fills in */
	u64 located; /* calls of set() with a known location */
	u64 refused; /* looks that failed */
	u64 skipped; /* how often looks at a process began to hang */
	u64 unread;  /* programs with goroutines of which the numbers cannot be read */
};

struct context_tracker;

/* NULL if there is no memory. The sink is copied. */
struct context_tracker *context_tracker_new(const struct context_tracker_sink *sink);
/* Frees it, without calling back. NULL is allowed. */
void context_tracker_free(struct context_tracker *tracker);

/*
 * ---- events of a process, at CLOCK_MONOTONIC now_ns: 0 or -ENOMEM ----
 *
 * An exec and a fork may call set() at once. All looks are made by context_tracker_run(). A
 * callback must not call the tracker.
 */
/* The process existed when the recording began. */
int context_tracker_found(struct context_tracker *tracker, pid_t pid, u64 now_ns);
/* The process executed another program. If its location was known, set() tells that it is void. */
int context_tracker_exec(struct context_tracker *tracker, pid_t pid, u64 now_ns);
/* `parent` made the process `child`, which inherits its location. */
int context_tracker_fork(struct context_tracker *tracker, pid_t parent, pid_t child, u64 now_ns);
/* The process mapped a file as executable, which may be a library. */
int context_tracker_mapped(struct context_tracker *tracker, pid_t pid, u64 now_ns);
/* The process gave memory a name (PR_SET_VMA), which may be a process context. */
int context_tracker_named(struct context_tracker *tracker, pid_t pid, u64 now_ns);
/* The process ended. */
void context_tracker_exit(struct context_tracker *tracker, pid_t pid);

/*
 * Does the looks that are due at now_ns. Returns when it is to be called again, in CLOCK_MONOTONIC
 * ns; UINT64_MAX if nothing is pending. If foreign_work_is_taken() afterwards, the tracker belongs
 * to another thread.
 */
u64 context_tracker_run(struct context_tracker *tracker, u64 now_ns);

/* Requests new looks at processes that were skipped, since a look that hung has returned. */
void context_tracker_again(struct context_tracker *tracker, u64 now_ns);

void context_tracker_counts(const struct context_tracker *tracker,
			    struct context_tracker_counts *counts);

#endif
