/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Details of a call that have records of their own, before the record of the call: the path that it
 * was asked for, and the peer of a message. The call counts for that path or peer.
 *
 * A cut can lie between a call and its details, and a life may tell its first call late. So a
 * partial keeps, of each thread, the first and the last details that have not met their call.
 * Memory is bounded by threads.
 *
 * Not thread-safe.
 */
#ifndef MAP_KERNEL_CALL_DETAILS_H
#define MAP_KERNEL_CALL_DETAILS_H

#include "base/map.h"
#include "base/vec.h"
#include "map/fact/facts.h"
#include "model/life.h"
#include "record/record.h"

struct partial;

struct call_detail {
	u64 call_ns;	  /* begin of the call; 0: there is none */
	const char *path; /* not NULL: that; else the file or the peer */
	/* With a kind: the file that ended its last wait, in a call that waits for many. */
	struct file_ref ended;
	u64 ended_ns;
	struct fact_peer peer;
};

#define DETAILS_KEPT 4 /* the first two and the last two */

struct call_details {
	u32 tid;
	struct call_detail waiting[2 * DETAILS_KEPT]; /* room for those of a right neighbour */
};

/* Starts with all zero. */
struct details {
	VEC(struct call_details *) list; /* owned */
	struct map index;		 /* tid -> struct call_details */
};

/* A record of a path or a peer. 0 or -ENOMEM. */
int call_details_add(struct partial *p, const struct record_head *r);

/* A wait in a call is over: notes what ended it, if the call waits for many. 0 or -ENOMEM. */
int call_details_wait(struct partial *p, u32 tid, const struct life_wait *w);

/* Takes the detail of the call. False: it has none. */
bool call_details_take(struct partial *p, u32 tid, u64 call_ns, struct call_detail *detail);

/* Adds one that was read. 0 or -ENOMEM. */
int call_details_put(struct details *d, u32 tid, const struct call_detail *detail);

/* Takes those of `right`, before lives are joined. 0 or -ENOMEM. */
int call_details_merge(struct details *left, struct details *right);

/* Once lives are joined: leaves what can still meet its call. */
void call_details_settle(struct details *d);

void call_details_free(struct details *d);

#endif
