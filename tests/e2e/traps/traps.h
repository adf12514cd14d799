/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2e-traps NAME [NUMBER]: programs that do what makes tracers wrong, a
 * known number of times. Exit status 77: it cannot be done here, stderr says why.
 */
#ifndef TESTS_E2E_TRAPS_TRAPS_H
#define TESTS_E2E_TRAPS_TRAPS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/truth/truth.h"

struct trap {
	const char *name;
	int (*run)(long number, char **argv);
};

/* One table for each file, ended by a row without a name. */
extern const struct trap traps_faults[], traps_calls[], traps_holds[], traps_identity[],
	traps_wakers[], traps_blocks[], traps_begins[], traps_ends[], traps_turns[];

/* Computes for so long; makes no system call. */
static inline void spin_ms(long ms)
{
	busy_until(truth_now() + ms * MS);
}

#endif
