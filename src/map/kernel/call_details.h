/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Details of a call that have records of their own, before the record of the call: the path that it
 * was asked for, and the peer of a message. The call counts for that path or peer.
 *
 * A cut can lie between a call and its details, and a life may tell its first call late. So a
 * partial keeps, of each thread, the first and the last details that have not met their call.
 * Where the ends of calls are lost, details of many calls can come before that first call. Memory
 * is bounded by threads.
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
	u32 mounts;	  /* with it: the mount namespace in which it holds; 0: the recorder's */
	/* With a kind: the file that ended its last wait, in a call that waits for many. */
	struct file_ref ended;
	u64 ended_ns;
	struct fact_peer peer;
	bool late; /* the record of the call came, but its life tells it only to a left neighbour */
};

#define DETAILS_FIRST 4 /* more than one where the ends of calls were lost */
#define DETAILS_LAST 2
#define DETAILS_KEPT (DETAILS_FIRST + DETAILS_LAST)

struct call_details {
	u32 tid;
	struct call_detail waiting[2 * DETAILS_KEPT]; /* room for those of a right neighbour */
};

/* A detail, with the thread that it is of. */
struct waiting_detail {
	u32 tid;
	struct call_detail detail;
};

struct waiting_details { /* a VEC */
	struct waiting_detail *data;
	size_t count, capacity;
};

/* Starts with all zero. */
struct details {
	VEC(struct call_details *) list; /* owned */
	struct map index;		 /* tid -> struct call_details */
	/* the call that was taken last, or had no detail */
	u64 taken_ns;
	u32 taken_tid;
};

/* A record of a path or a peer. 0 or -ENOMEM. */
int call_details_add(struct partial *p, const struct record_head *r);

/* A wait in a call is over: notes what ended it, if the call waits for many. 0 or -ENOMEM. */
int call_details_wait(struct partial *p, u32 tid, const struct life_wait *w);

/* Takes the detail of the call. False: it has none. */
bool call_details_take(struct partial *p, u32 tid, u64 call_ns, struct call_detail *detail);

/*
 * The record of a call came. If its life does not tell it yet, its detail is kept, and those of
 * calls before it go: records of their ends were lost.
 */
void call_details_late(struct details *d, u32 tid, u64 call_ns);

/* All that wait for their calls, by thread. 0 or -ENOMEM; the caller frees the list. */
int waiting_details_of(const struct details *d, struct waiting_details *all);

/* Adds those that were read. 0 or -ENOMEM. */
int waiting_details_put(struct details *d, const struct waiting_details *all);

/* Takes those of `right`, before lives are joined. 0 or -ENOMEM. */
int call_details_merge(struct details *left, struct details *right);

/* Once lives are joined: leaves what can still meet its call. */
void call_details_settle(struct details *d);

/* For a checkpoint: leaves those of the last call of each thread in `tids`, which may go on. */
void call_details_prune(struct details *d, const struct map *tids);

void call_details_free(struct details *d);

#endif
