/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that processes run. */
#ifndef MAP_FACT_PROCESS_H
#define MAP_FACT_PROCESS_H

#include "base/map.h"
#include "map/fact/facts.h"

/*
 * Before the facts are pruned for a checkpoint: tells of each of these processes that only forked
 * what it runs, as a snapshot would. Facts are sorted, and stay so. 0 or -ENOMEM.
 */
int processes_inherit(struct partial *p, const struct map *pids);

#endif
