/* SPDX-License-Identifier: Apache-2.0 */
/* Prunes a partial for a checkpoint. */
#ifndef MAP_CHECKPOINT_PRUNE_H
#define MAP_CHECKPOINT_PRUNE_H

struct partial;

/* Leaves what still holds at the end of the partial, and sorted facts. 0 or -ENOMEM. */
int checkpoint_prune(struct partial *p);

#endif
