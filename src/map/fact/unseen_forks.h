/* SPDX-License-Identifier: Apache-2.0 */
/* Forks that nobody saw: at which times a number was given to another thread. */
#ifndef MAP_FACT_UNSEEN_FORKS_H
#define MAP_FACT_UNSEEN_FORKS_H

#include "map/fact/facts.h"

/*
 * Finds them. Names of the thread that had a number before end there, and those of the thread that
 * was found with it later begin there. Names and forks are sorted, and stay so. 0 or -ENOMEM.
 */
int unseen_forks_find(struct facts *f);

/* When the number was given to another thread last, up to that time; 0: never, as far as is known.
 */
u64 unseen_forks_last(const struct facts *f, u32 number, u64 time_ns);

/* When that happens next, behind that time; UINT64_MAX: never. */
u64 unseen_forks_next(const struct facts *f, u32 number, u64 time_ns);

#endif
