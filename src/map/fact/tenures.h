/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which thread or process had a number, and when. The kernel reuses numbers: each fork, seen or
 * not, begins a tenure of its number, which lasts until the next one.
 *
 * Facts are sorted; several threads may ask at once.
 */
#ifndef MAP_FACT_TENURES_H
#define MAP_FACT_TENURES_H

#include "map/fact/facts.h"

/*
 * Finds all of them, once names and forks are sorted, which stay so. A fork that lies in a gap is
 * found from names: those of the thread that had the number before end there, and those of the
 * thread that was found with it later begin there. 0 or -ENOMEM.
 */
int tenures_find(struct facts *f);

struct tenure {
	u64 from_ns;  /* 0: no fork of the number is known up to then */
	u64 until_ns; /* UINT64_MAX: nor is one after it */
	/* how the process with the number was made; NULL: unseen, or the number is of a thread */
	const struct fact_fork *fork;
};

/* The tenure of the number at that time. */
struct tenure tenure_at(const struct facts *f, u32 number, u64 time_ns);

#endif
