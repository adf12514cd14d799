/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at processes while capture drains: where they keep their context, and
 * whether they share a ring. Looking can block (a process decides what its memory
 * and its files do), so it has a thread of its own, which drains nothing.
 *
 * What is seen of processes goes in, from the thread that drains; locations go to the
 * kernel programs by themselves; rings come out through capture_watch_collect(), and who
 * processes are through capture_watch_tell().
 */
#ifndef CAPTURE_WATCH_H
#define CAPTURE_WATCH_H

#include "capture/app/rings.h"

struct capture_watch;

/* Starts the thread. *out is the caller's, for capture_watch_close(). 0 or a negative errno. */
int capture_watch_open(struct capture *c, struct capture_watch **out, struct error *e);

/* Ends it; one that is stuck in a look is left behind, and touches `c` no more. NULL is allowed. */
void capture_watch_close(struct capture_watch *watch);

/* A record of the stream LIFE: forks, execs, ends and processes found are taken note of. */
void capture_watch_life(struct capture_watch *watch, const struct record_head *r);

/* How many events were dropped, and locations could not be told. */
u64 capture_watch_missed(const struct capture_watch *watch);

/* True if it is a notice (bpf/notice.h) and no record. */
bool capture_watch_notice(struct capture_watch *watch, const struct record_head *r);

/*
 * Tells what processes say about themselves by other libraries than ours, and with --spans-only
 * of which processes the programs know the context by now, with the time of the call; before
 * capture_watch_collect(). 0 or what the sink said.
 */
int capture_watch_tell(struct capture *c, const struct capture_sink *sink);

/* Waits, a tenth of a second at most, until all that went in was looked at once. */
void capture_watch_settle(struct capture_watch *watch);

/* There is news of this descriptor (an eventfd) whenever there is something to tell or collect. */
int capture_watch_fd(const struct capture_watch *watch);

/* Hands over the rings that were reached since the last call; costs nothing if none was. */
void capture_watch_collect(struct capture_watch *watch, struct app_rings *rings);

#endif
