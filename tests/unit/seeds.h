/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many random worlds a simulation goes through. FATHOM_TEST_SEEDS is their share in percent:
 * tools/run-tests sets it, so that the inner loop takes a few and a release all. Without it a
 * program takes all of them, and a quarter in a build with sanitizers, which is far slower and
 * finds the same mistakes in each of them.
 */
#ifndef TESTS_UNIT_SEEDS_H
#define TESTS_UNIT_SEEDS_H

#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
#define SEEDS_PERCENT 25
#else
#define SEEDS_PERCENT 100
#endif

/* The share of `count` seeds that is wanted; at least one. */
static inline unsigned long seeds_of(unsigned long count)
{
	const char *wanted = getenv("FATHOM_TEST_SEEDS");
	unsigned long percent = wanted ? strtoul(wanted, NULL, 10) : SEEDS_PERCENT;

	count = count * percent / 100;
	return count ? count : 1;
}

#endif
