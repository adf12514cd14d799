/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is taken piece by piece and freed all at once; no piece ever moves.
 *
 * Not thread-safe.
 */
#ifndef MAP_FACT_ARENA_H
#define MAP_FACT_ARENA_H

#include "base/vec.h"

/* Starts with all zero. */
struct arena {
	VEC(char *) blocks; /* owned */
	char *at;	    /* in one of them */
	size_t left;	    /* from there on */
};

/* Takes uninitialised bytes, aligned for any struct; NULL if there is no memory. */
void *arena_take(struct arena *a, size_t bytes);

/* Moves all blocks of `right`, which is left empty. 0, or -ENOMEM with both as they were. */
int arena_merge(struct arena *left, struct arena *right);

void arena_free(struct arena *a);

#endif
