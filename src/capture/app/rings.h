/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings of application processes (lib/app_ring.h): reaches them, listens, and
 * hands over what libfathom wrote.
 *
 *   app_ring_reach(pid, made, &known, &reached, &error)   slow, by a thread that drains nothing
 *   app_rings_add(rings, reached)       by the thread that drains, like all below
 *   app_rings_poll(rings, &sink)        about every millisecond, if there are any
 *   app_rings_cut_begin(rings, cut_ns), app_rings_cut_pass(rings, &sink)
 *   app_rings_free(rings)
 *
 * The other side may be hostile. Records are copied before they are looked at,
 * the process and its threads are named by capture and not by what they
 * write, times are bounded by the session and the present, and a drain is bounded
 * in time. What is not believed is counted as damaged in the process's stream.
 *
 * One capture at a time listens to a ring: it holds a lock on the file, which
 * the kernel releases when it dies.
 */
#ifndef CAPTURE_APP_RINGS_H
#define CAPTURE_APP_RINGS_H

#include "capture/capture.h"
#include "proc/memfd.h"

/*
 * A process has a ring for each copy of libfathom in it: its own, and those of plugins that have
 * the archive inside. So many of them are heard.
 */
#define APP_RINGS_OF_PROCESS 8

struct app_rings;
struct app_ring_reached; /* rings of a process that were mapped and are not yet listened to */

/* The rings of a process that were reached before, and are still mapped. Begins as {0}. */
struct app_rings_known {
	struct memfd_known ring[APP_RINGS_OF_PROCESS];
	u32 count;
};

/*
 * Looks for the rings of a process that are not `known`, maps them and reads what is to be known
 * about the process; they are known then, and what is not mapped any more is forgotten. With NULL
 * none is known. `made_ns` is when the kernel saw the first of them being made, in our scope; 0:
 * not seen. If that was a moment ago, what is in them since then is for us, too (lib/app_ring.h:
 * grace). Returns how many there are, all in *out, the caller's, for app_rings_add() or
 * app_ring_drop(); or 0, or a negative errno: -ESRCH if the process is gone, -EBUSY if another
 * capture listens to them, -ENXIO if we may not open them; *out is untouched then. Threads may call
 * it at once.
 */
int app_ring_reach(pid_t pid, u64 made_ns, struct app_rings_known *known,
		   struct app_ring_reached **out, struct error *e);
/* Gives up all that was reached; NULL is allowed. */
void app_ring_drop(struct app_ring_reached *reached);

/* NULL if there is no memory. Raises the soft limit of file descriptors to 65536, if it may. */
struct app_rings *app_rings_new(void);
/* Stops listening and frees all; NULL is allowed. The programs go on. */
void app_rings_free(struct app_rings *rings);

/*
 * Listens to rings, which are ours from now on, also on failure. A ring that is known already is
 * dropped. One ends with its process, with the program that the process runs, and when the
 * library says that it stops: what is left in it comes with the next polls. If a process has more
 * than APP_RINGS_OF_PROCESS the oldest one ends. 0, -ENOMEM, or -EMFILE if as many are there as a
 * quarter of our file descriptors: then some are missed, as below.
 */
int app_rings_add(struct app_rings *rings, struct app_ring_reached *reached);

/*
 * A process was seen to make one at made_ns, by the clock of records: until it is added or missed,
 * the streams are complete up to then only. For a tenth of a second: not each process that makes a
 * file of that name has a ring.
 */
void app_rings_sought(struct app_rings *rings, pid_t pid, u64 made_ns);

/* A process made a thread that it calls `inner`, in a pid namespace of its own. */
struct app_thread;
void app_rings_thread(struct app_rings *rings, const struct app_thread *thread);

/* A record of the stream LIFE: whose threads are, and who runs another program. Before the poll of
 * what was written then. */
void app_rings_life(struct app_rings *rings, const struct record_head *r);

/* A process has a ring that cannot be listened to, or had: the next poll tells the sink. */
void app_rings_missed(struct app_rings *rings, pid_t pid);

/*
 * Hands over what is published in the streams CAPTURE_STREAM_APP, at most a
 * batch of each ring, renews the leases, and lets go of processes that ended. 0 or
 * what the sink returned.
 */
int app_rings_poll(struct app_rings *rings, const struct capture_sink *sink);

/*
 * A cut: _begin() notes what is reserved, after cut_ns was read. Each _pass()
 * hands over what of that is published and not later than cut_ns; later records
 * are kept for the next poll. 1: nothing is left to wait for: all of it is out but what is behind a
 * thread that has been in the middle of a record for more than a second; 0: some producer is in
 * the middle of one; or a negative errno. What was lost is told by app_rings_cut_losses().
 */
int app_rings_cut_begin(struct app_rings *rings, u64 cut_ns);
int app_rings_cut_pass(struct app_rings *rings, const struct capture_sink *sink);

/*
 * After the last pass: what is not out of the cut is later than this; the cut if all is out.
 * A thread that has been in the middle of a record for more than a second does not count.
 */
u64 app_rings_complete(const struct app_rings *rings);

/* Tells the sink what was lost until the last cut. */
int app_rings_cut_losses(struct app_rings *rings, const struct capture_sink *sink);

struct app_rings_counts {
	u64 rings;	 /* listened to now */
	u64 records;	 /* handed over */
	u64 lost;	 /* did not fit into their ring */
	u64 damaged;	 /* were not believed */
	u64 cut;	 /* records with a text that did not fit into them */
	u64 stale;	 /* left over from a listener before us */
	u64 not_reached; /* rings of processes that ended before, or that another capture has */
};
void app_rings_counts(const struct app_rings *rings, struct app_rings_counts *out);
/* Whether any is listened to. */
bool app_rings_any(const struct app_rings *rings);

#endif
