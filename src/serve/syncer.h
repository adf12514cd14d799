/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syncs the log for requests whose entries are appended: once for all that wait, in a thread of its
 * own. Several syncers of one log share its syncs, too.
 */
#ifndef SERVE_SYNCER_H
#define SERVE_SYNCER_H

#include <stdbool.h>
#include <stdint.h>

#include "log/log.h"
#include "serve/loader.h"

struct syncer;

/* A part of what waits, which stays where it is until done() is called. */
struct sync_wait {
	struct sync_wait *next;
	uint64_t end; /* of the entry */
	/* Before another thread can call done(), with a lock held; or NULL. */
	void (*hold)(struct sync_wait *w);
	/* In the syncer's thread: 0 if the entry is durable, else the error. */
	void (*done)(struct sync_wait *w, int err);
};

/* The log and the loader, which may be NULL, outlive it. */
int syncer_start(struct log *log, struct loader *loader, struct syncer **out);

/* For any thread. False: the syncer ends, and the caller calls log_sync() instead. */
bool syncer_add(struct syncer *s, struct sync_wait *w);

/* Returns when all that wait are done; from its begin on syncer_add() returns false. */
void syncer_drain(struct syncer *s);

/* After syncer_drain() and the last syncer_add(). NULL is allowed. */
void syncer_free(struct syncer *s);

#endif
