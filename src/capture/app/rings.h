/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings of application processes (lib/app_ring.h): opens them, listens, and hands over the
 * records that libfathom wrote.
 *
 *   app_ring_reach(pid, made, &known, &reached, &error)   slow: for a thread that drains nothing
 *   app_rings_add(rings, reached)       for the thread that drains, like all below
 *   app_rings_poll(rings, &sink)        about every millisecond, if there are any
 *   app_rings_cut_begin(rings, cut_ns), app_rings_cut_pass(rings, &sink)
 *   app_rings_free(rings)
 *
 * The writer may be hostile. Records are copied before they are checked; process and thread ids are
 * translated and checked; times must lie between the begin of listening and now; and a drain is
 * bounded in time. A record that fails a check counts as damaged, in the stream of its process.
 *
 * One capture at a time listens to a ring. It holds a lock on the file, which the kernel releases
 * when the capture dies.
 */
#ifndef CAPTURE_APP_RINGS_H
#define CAPTURE_APP_RINGS_H

#include "capture/capture.h"
#include "proc/memfd.h"

/*
 * A process has a ring for each copy of libfathom in it: one of its own, and one for each plugin
 * with the archive inside. At most so many are listened to.
 */
#define APP_RINGS_OF_PROCESS 8

struct app_rings;
struct app_ring_reached; /* rings of a process that are open, and not yet listened to */

/* The rings of a process that were opened before and are still mapped. Starts with all zero. */
struct app_rings_known {
	struct memfd_known ring[APP_RINGS_OF_PROCESS];
	u32 count;
};

/*
 * Looks for rings of a process that are not in `known`, maps them, and reads the namespaces of the
 * process. Adds them to `known`, and removes those that are not mapped any more. With NULL none is
 * known. `made_ns` is when the kernel saw the first of them being made in our scope; 0: it did not.
 * If that was a moment ago, their records since then are for us, too (lib/app_ring.h: grace).
 *
 * Returns how many were found; they are in *out, the caller's, for app_rings_add() or
 * app_ring_drop(). Or 0, or a negative errno, and *out is untouched: -ESRCH if the process is gone,
 * -EBUSY if another capture listens to them, -ENXIO if we may not open them. Several threads may
 * call this at once.
 */
int app_ring_reach(pid_t pid, u64 made_ns, struct app_rings_known *known,
		   struct app_ring_reached **out, struct error *e);
/* Closes the rings. NULL is allowed. */
void app_ring_drop(struct app_ring_reached *reached);

/* NULL if there is no memory. Raises the soft limit of descriptors to 65536, if it may. */
struct app_rings *app_rings_new(void);
/* Stops listening and frees all. The applications go on. NULL is allowed. */
void app_rings_free(struct app_rings *rings);

/* Has each service record shown to a function before the sink gets it. */
typedef void app_service_fn(void *arg, const struct record_service *r);
void app_rings_services(struct app_rings *rings, app_service_fn *seen, void *arg);

/*
 * Listens to rings, and takes them over, also on failure. A ring that is listened to already is
 * closed. Listening ends with the process, with the program that it runs, and when the library says
 * that it stops; records that are left come with the next polls. If a process has more than
 * APP_RINGS_OF_PROCESS rings, the oldest one ends. 0; -ENOMEM; or -EMFILE if the rings use a
 * quarter of our descriptors: then some count as missed, as below.
 */
int app_rings_add(struct app_rings *rings, struct app_ring_reached *reached);

/*
 * Notes that a process has made a ring at made_ns, by the clock of records. Until the ring is added
 * or missed, streams are complete up to that time only. This lasts a tenth of a second at most,
 * since a process may make a file of that name without having a ring.
 */
void app_rings_sought(struct app_rings *rings, pid_t pid, u64 made_ns);

/*
 * No ring is looked for any more: those that were made and are neither added nor missed count as
 * missed. To be called before the last cut.
 */
void app_rings_sought_end(struct app_rings *rings);

/* Notes that a process in another pid namespace made a thread, and what it calls it. */
struct app_thread;
void app_rings_thread(struct app_rings *rings, const struct app_thread *thread);

/*
 * Takes note of a record of the stream LIFE, which may change the owner of a thread or the program
 * of a process. To be called before records of that time are polled.
 */
void app_rings_life(struct app_rings *rings, const struct record_head *r);

/* Notes that a process has or had a ring that cannot be listened to. The next poll tells of it. */
void app_rings_missed(struct app_rings *rings, pid_t pid);

/*
 * Hands over the records that were published, as streams CAPTURE_STREAM_APP, at most a batch of
 * each ring. Renews leases, and closes rings of processes that ended. 0 or the sink's result.
 */
int app_rings_poll(struct app_rings *rings, const struct capture_sink *sink);

/*
 * A cut. app_rings_cut_begin() is called after cut_ns was read, and notes what is reserved. Each
 * app_rings_cut_pass() hands over the part of it that is published and not later than cut_ns; later
 * records are kept for the next poll. It returns 1 if nothing is left to wait for: all is handed
 * over, except behind a thread that has been in the middle of a record for more than a second. 0:
 * a producer is in the middle of a record. Or a negative errno.
 */
int app_rings_cut_begin(struct app_rings *rings, u64 cut_ns);
int app_rings_cut_pass(struct app_rings *rings, const struct capture_sink *sink);

/*
 * After the last pass: a time before all records of the cut that are still missing; the cut itself
 * if none is. A thread that has been in the middle of a record for more than a second does not
 * count.
 */
u64 app_rings_complete(const struct app_rings *rings);

/* Tells the sink of the losses before the last cut. */
int app_rings_cut_losses(struct app_rings *rings, const struct capture_sink *sink);

struct app_rings_counts {
	u64 rings;	 /* listened to now */
	u64 records;	 /* handed over */
	u64 lost;	 /* records that their ring had no room for */
	u64 damaged;	 /* records that failed a check */
	u64 cut;	 /* records whose text did not fit into them */
	u64 stale;	 /* records for an earlier listener */
	u64 not_reached; /* rings of processes that ended first, or that another capture has */
};
void app_rings_counts(const struct app_rings *rings, struct app_rings_counts *out);
/* Whether any ring is listened to. */
bool app_rings_any(const struct app_rings *rings);

#endif
