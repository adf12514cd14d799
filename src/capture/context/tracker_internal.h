/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a tracker, for its two files: tracker.c follows what processes do and says when one
 * is looked at, tracker_look.c looks. Nothing else includes it.
 */
#ifndef CAPTURE_CONTEXT_TRACKER_INTERNAL_H
#define CAPTURE_CONTEXT_TRACKER_INTERNAL_H

#include "base/map.h"
#include "capture/context/locate.h"
#include "capture/context/tracker.h"

#define TRACKER_MS 1000000ull
#define TRACKER_NEVER UINT64_MAX
#define TRACKER_PAUSE_NS (10 * TRACKER_MS) /* between two looks at one process */

/* A process that the tracker follows. Times are CLOCK_MONOTONIC ns; due times are TRACKER_NEVER if
 * nothing is. */
struct tracked {
	pid_t pid;
	struct tracked *next, **link; /* in context_tracker.pending; link NULL: not in it */
	u64 event_ns;		      /* the last exec or mapping; later looks are due from it */
	u64 looked_ns, look_due_ns;
	u64 unresolved_ns, ask_due_ns;
	u64 describe_due_ns;
	unsigned int follow; /* how many of these later looks are done */
	unsigned int describe_tries;
	bool confirm; /* the location was read once: the next ask confirms it */
	bool skipped; /* a look at it hung */
	bool foreign; /* its process context has a schema that we cannot read */
	bool is_fathom;
	bool begins; /* its program is new to us: a process context may still come */
	u64 published_ns;
	struct context_executed executed; /* time_ns 0: the exec was not seen */
	u64 assumed_until_ns;		  /* how long an assumed location stands without proof */
	struct context_location location; /* as told by set() last */
	struct context_lights lights;
	struct context_places *places; /* NULL: none */
};

struct context_tracker {
	struct context_tracker_sink sink;
	struct context_tracker_counts counts;
	struct context_files *files;
	struct map processes;	 /* pid -> struct tracked, owned */
	struct tracked *pending; /* those with something due */
};

extern const struct context_location context_location_unknown;

/*
 * Whether it is still to be known which library writes the process's contexts. Until then its spans
 * count if they are sampled, which is the rule for all libraries.
 */
bool tracked_is_awaited(const struct tracked *process);

/* Whether the location is one that the kernel programs assumed at the exec. */
bool tracked_is_assumed(const struct tracked *process);

/* Tells the location of a process, with that of its goroutines, if it is news. */
void tracked_tell(struct context_tracker *tracker, struct tracked *process,
		  const struct context_location *found);

/* Tells that the process has no location. An assumed one stands for a while, as it may still come.
 */
void tracked_missing(struct context_tracker *tracker, struct tracked *process, u64 now_ns);

void tracked_set_skipped(struct context_tracker *tracker, struct tracked *process, bool skipped);

/* Copies the places at which the process may have its context. 0 or -ENOMEM. */
int tracked_keep_places(struct tracked *process, const struct context_places *found);

/* What the process executed last, as the kernel programs saw it. False: they did not. */
bool tracker_executed(const struct context_tracker *tracker, pid_t pid,
		      struct context_executed *executed);

/*
 * Look at a process, and set when the next look is due. 0; -ESRCH if the process is gone; -EBUSY if
 * it hangs; -ECANCELED if the tracker belongs to another thread now; or another negative errno.
 *
 * tracked_describe() reads the process context. The mapping may get its name before the kernel
 * shows it, or once more later, so this is tried again. tracked_look() finds the places where the
 * process may have its location, and tracked_ask() reads the words there. These are read again a
 * bit later, since the loader writes them one after the other. The process context is read before
 * a new location is told: spans that libfathom was told not to sample must not count.
 */
int tracked_describe(struct context_tracker *tracker, struct tracked *process, u64 now_ns);
int tracked_look(struct context_tracker *tracker, struct tracked *process, u64 now_ns);
int tracked_ask(struct context_tracker *tracker, struct tracked *process, u64 now_ns);

#endif
