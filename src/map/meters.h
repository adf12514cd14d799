/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of chosen threads within chosen stretches of time (model/meter.h), and what they did in
 * the kernel then. Give them to the options of all partials that are merged: each instant is
 * accounted once, in whichever partial.
 *
 * A group is the threads of a process, or one thread, with the stretches that are asked of it. A
 * thread belongs to its own group, else to that of its process.
 */
#ifndef MAP_METERS_H
#define MAP_METERS_H

#include "base/map.h"
#include "map/kernel/kspans.h"
#include "model/meter.h"
#include "span/received.h"

struct partial;

struct thread_meter {
	u32 tid, pid;
	struct meter meter;
};

struct meter_group {
	u32 pid, tid;			     /* tid 0: all threads of the process */
	VEC(struct meter_stretch) stretches; /* disjoint, in the order of time; the caller's */
	VEC(struct thread_meter *) threads;  /* that were seen; owned */
};

/* Starts with all zero. */
struct meters {
	VEC(struct meter_group) groups; /* none is added once a partial has them */
	struct map numbers;		/* pid, tid -> number of the group + 1 */
	struct map threads;		/* pid, tid -> struct thread_meter */
	const struct trace_id *trace;	/* NULL: none; borrowed: what ran under it is kept, too */
	bool failed;			/* memory ran out */
};

/* The group, made if it is new; good until the next one is made. NULL: no memory. */
struct meter_group *meters_group(struct meters *m, u32 pid, u32 tid);

/* The group of a thread; NULL: none. */
struct meter_group *meters_group_of(const struct meters *m, u32 pid, u32 tid);

/* Gives a life its meter, once its process is known. */
void meters_attach(struct meters *m, struct life *l);

/* Does so for all lives of a partial that was read from a checkpoint. */
void meters_attach_all(struct partial *p);

/* Whether a kernel span begins in a stretch of its thread. */
bool meters_want(const struct meters *m, const struct kspan *k);

void meters_free(struct meters *m);

#endif
