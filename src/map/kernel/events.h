/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel tracepoints that the user chose, and the formats by which they are read. */
#ifndef MAP_KERNEL_EVENTS_H
#define MAP_KERNEL_EVENTS_H

#include "base/map.h"
#include "base/vec.h"
#include "map/kernel/sums.h"

struct partial;

struct event_text {
	u32 format, bytes;
	char *text; /* as in the format record; owned */
};

struct kevent {
	u64 time_ns;
	u32 tid, pid;
	u32 format, bytes;
	struct context ctx; /* finished: only of a span that is in partial.spans */
	/* finished, under no span: number in partial.lives + 1 of the thread's life; 0: none */
	size_t life;
	char *payload; /* owned */
};

struct kevents {
	struct map index; /* id of a format -> number in formats + 1 */
	VEC(struct event_text) formats;
	struct sums counts;	 /* key: id of a format */
	VEC(struct kevent) list; /* with partial_options.spans; finished: by owner, then time */
};

/* Adds what a record of an event or of a format tells. 0 or -ENOMEM. */
int events_add(struct partial *p, const struct record_head *r);

/* Makes the index of formats that were not added by records. 0 or -ENOMEM. */
int events_index(struct kevents *events);

/* Moves what it can of `right` to `left`; right is only to be freed afterwards. 0 or -ENOMEM. */
int events_merge(struct kevents *left, struct kevents *right);

/* Sorts events once all spans are there and sorted. 0 or -ENOMEM. */
int events_sort(struct partial *p);

void events_free(struct kevents *events);

#endif
