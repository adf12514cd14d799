/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, processes and files that go on behind a checkpoint: later records may ask for them. */
#ifndef MAP_FACT_LIVING_H
#define MAP_FACT_LIVING_H

#include "base/map.h"
#include "map/fact/facts.h"

struct living {
	struct map tids;	/* threads that go on, and whoever woke one that still waits */
	struct map pids;	/* processes of those that go on */
	struct map ended;	/* when the last life of a number ended, + 1 */
	struct map files;	/* keys of files that are open */
	struct bytes_map spans; /* contexts that own the time of a thread */
	u64 expected_ns;	/* since then the threads of a process may have still to come */
};

/* Whether a fact of a process that was told then is of one that lives, or may live: its threads
 * come after it. */
bool living_may_have(const struct living *l, u32 pid, u64 time_ns);

/* Finds expected_ns, for a checkpoint at that time. 0 or -ENOMEM. */
int living_expect(struct living *l, const struct facts *f, u64 at_ns);

/*
 * The time from which on there are no more facts than a checkpoint keeps, of facts that nothing
 * ends; facts of one time stay or go together. Sorts the times.
 */
u64 told_since(u64 *times, size_t count);

void living_free(struct living *l);

#endif
