/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What records must be there since others are: on each CPU the thread that got it is the one that
 * leaves it next, and who left a CPU asleep and comes back was woken in between.
 */
#ifndef SOAK_CHAINS_H
#define SOAK_CHAINS_H

#include <stdio.h>

#include "chunk/chunk.h"

struct chains;

/* Prints to `out`, which is borrowed. NULL if memory ran out. */
struct chains *chains_new(FILE *out);
void chains_free(struct chains *c);

/* The next chunk: where nothing joins it to the one before, nothing is known. */
void chains_chunk(struct chains *c, const struct chunk_info *info);

/*
 * Prints, when it becomes clear that something is missing,
 *
 *   switch BEGIN END CPU   at least one between these
 *   waking BEGIN END TID
 *
 * and where a CPU may have been in hands of which chains.c says that they hide wakings,
 *
 *   unknown BEGIN END
 */
void chains_record(struct chains *c, const struct record_head *r);

/* Prints `checked SWITCHES COMINGS UNSEEN`: of comings so many may be those of which chains.c says
 * that nothing tells who woke them. */
void chains_print(const struct chains *c);

#endif
