/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups of a process. */
#ifndef MAP_FACT_CONTAINERS_H
#define MAP_FACT_CONTAINERS_H

#include "map/fact/facts.h"

struct places {
	VEC(struct fact_move) list; /* one for each hierarchy: only that and the cgroup are set */
};

/* Adds where the process is at that time, of sorted facts. 0 or -ENOMEM. */
int places_find(const struct facts *f, u32 pid, u64 time_ns, struct places *places);

#endif
