/* SPDX-License-Identifier: Apache-2.0 */
/* The merge law over random cuts: for tests of check.h. */
#ifndef TESTS_UNIT_MAP_CUTS_H
#define TESTS_UNIT_MAP_CUTS_H

#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "check.h"

/* Maps a simulation in pieces, cut at so many random places, and merges them. */
typedef struct partial *cut_fn(struct simulation *, int cuts);

/* Compares the answers of a simulation with those of it cut and merged at random. */
static inline void check_cuts(struct simulation *s, u64 seed, cut_fn *map_in_pieces)
{
	char *whole = answers(map_range(s, 0, s->records.count), s);

	for (int i = 0; i < 12; i++) {
		char *cut = answers(map_in_pieces(s, 1 + (int)simulation_random(s, 15)), s);

		CHECK_ANSWERS(whole, cut, seed, i);
		free(cut);
	}
	free(whole);
}

#endif
