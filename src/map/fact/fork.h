/* SPDX-License-Identifier: Apache-2.0 */
/* Forks: how threads and processes were made. */
#ifndef MAP_FACT_FORK_H
#define MAP_FACT_FORK_H

#include "map/fact/facts.h"

/*
 * How the process was made that had this number at that time, of sorted facts. NULL: before the
 * recording, or nobody saw it.
 */
const struct fact_fork *facts_fork(const struct facts *f, u32 pid, u64 time_ns);

#endif
