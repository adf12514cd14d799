/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping the records of a simulation whole or in pieces, which are merged. */
#ifndef TESTS_UNIT_MAP_PIECES_H
#define TESTS_UNIT_MAP_PIECES_H

#include <stdio.h>
#include <stdlib.h>

#include "map/partial.h"
#include "simulate.h"

/* Ends the test: what it needs has failed. */
static inline void must(int err)
{
	if (err) {
		fprintf(stderr, "failed (%d)\n", err);
		abort();
	}
}

/* Maps records [first, end). */
struct partial *map_range(const struct simulation *s, size_t first, size_t end);

/* Maps pieces between `cuts` (16 at most) random cuts, merges them in a random grouping. */
struct partial *map_cut(struct simulation *s, int cuts);

/* The same, with each stream of records cut at a time of its own. */
struct partial *map_cut_streams(struct simulation *s, int cuts);

/* The pieces of these, not merged: returns how many. */
#define SIMULATED_PIECES 17
int map_pieces(struct simulation *s, int cuts, struct partial *pieces[SIMULATED_PIECES]);
int map_pieces_streams(struct simulation *s, int cuts, struct partial *pieces[SIMULATED_PIECES]);

#define SIMULATED_STREAMS 4

/* What lies between times of each stream (CPU modulo SIMULATED_STREAMS). */
struct simulated_piece {
	u64 begin_ns; /* of its chunk */
	u64 from_ns[SIMULATED_STREAMS], to_ns[SIMULATED_STREAMS];
	u64 losses_from[SIMULATED_STREAMS], losses_to[SIMULATED_STREAMS];
};

/* Applies it, and of losses that lie across its ends what is told within. */
void map_piece(const struct simulation *s, struct partial *p, const struct simulated_piece *piece);

/* Merges neighbours in a random grouping until there is one, which is returned. */
struct partial *merge_at_random(struct simulation *s, struct partial **pieces, int n);

/* Maps all, to be asked only for what is from at_ns on. */
struct partial *map_since(const struct simulation *s, u64 at_ns);

/* The same, but of what was before at_ns only a checkpoint is kept, made in so many steps. */
struct partial *map_on_checkpoint(struct simulation *s, u64 at_ns, int steps);

/* The same, where each step but the last ends at another time in each stream. */
struct partial *map_on_uneven_checkpoint(struct simulation *s, u64 at_ns, int steps);

/*
 * Maps all around a gap before which recording crashed: each stream ends there at a time of its
 * own, and what is behind that is not there. To be asked only for what is from the gap on.
 * `resumed`: of what was before only a checkpoint is kept.
 */
struct partial *map_crash(const struct simulation *s, const struct simulated_gap *gap,
			  const u64 ends_ns[SIMULATED_STREAMS], bool resumed);

#endif
