/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch looks at processes while capture drains: where they keep their context, and whether
 * they have a ring. A look can block, since a process controls its memory and its files, so the
 * watch has a thread of its own.
 *
 * The thread that drains puts events of processes in. Locations of contexts go to the kernel
 * programs directly. Rings come out of capture_watch_collect(), and descriptions of processes out
 * of capture_watch_tell().
 */
#ifndef CAPTURE_WATCH_H
#define CAPTURE_WATCH_H

#include "capture/app/rings.h"

struct capture_watch;

/* Starts the watch. *out is the caller's, for capture_watch_close(). 0 or a negative errno. */
int capture_watch_open(struct capture *c, struct capture_watch **out, struct error *e);

/* Ends it. A thread that is stuck in a look is left behind and touches `c` no more. NULL: allowed.
 */
void capture_watch_close(struct capture_watch *watch);

/* Takes note of a record of the stream LIFE: a fork, an exec, an end, or a process found. */
void capture_watch_life(struct capture_watch *watch, const struct record_head *r);

/* How many events were dropped, and how many locations the programs could not be told. */
u64 capture_watch_missed(const struct capture_watch *watch);

/* How many programs with goroutines were met of which these cannot be told (elf/go.h). */
u64 capture_watch_unread(const struct capture_watch *watch);

/* Takes note of a notice (bpf/notice.h). False if it is none, but a record. */
bool capture_watch_notice(struct capture_watch *watch, const struct record_head *r);

/*
 * Hands over what processes say about themselves through other libraries than libfathom, and with
 * --spans-only the processes whose context the programs can read from now on. The records have the
 * time of the call. To be called before capture_watch_collect(). 0 or the sink's result.
 */
int capture_watch_tell(struct capture *c, const struct capture_sink *sink);

/* Waits until all processes of events so far were looked at once, a tenth of a second at most. */
void capture_watch_settle(struct capture_watch *watch);

/* An eventfd that becomes readable when there is something to tell or to collect. */
int capture_watch_fd(const struct capture_watch *watch);

/* Hands over the rings that were opened since the last call. Cheap if there are none. */
void capture_watch_collect(struct capture_watch *watch, struct app_rings *rings);

#endif
