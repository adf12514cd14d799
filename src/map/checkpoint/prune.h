/* SPDX-License-Identifier: Apache-2.0 */
/* Prunes a partial for a checkpoint. */
#ifndef MAP_CHECKPOINT_PRUNE_H
#define MAP_CHECKPOINT_PRUNE_H

struct life;
struct living;
struct partial;

/* Leaves what still holds at the end of the partial, and sorted facts. 0 or -ENOMEM. */
int checkpoint_prune(struct partial *p);

/* Notes that the thread goes on, and who and what it may still name. 0 or -ENOMEM. */
int living_keep(struct living *living, const struct life *l);

/* Sorts the facts, and leaves those of who goes on. 0 or -ENOMEM. */
int partial_facts_prune(struct partial *p, struct living *l);

#endif
