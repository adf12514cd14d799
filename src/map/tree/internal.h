/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the making of a tree: shared by tree.c, tree_stand_ins.c and tree_order.c. */
#ifndef MAP_TREE_INTERNAL_H
#define MAP_TREE_INTERNAL_H

#include "map/tree/tree.h"

/* The key of a span in a map: its id is unique in its trace only. */
static inline u64 node_key(const u8 trace[16], u64 id)
{
	u64 half[2];

	__builtin_memcpy(half, trace, sizeof(half));
	return hash_pair(hash_pair(half[0], half[1]), id);
}

/* ---- tree_stand_ins.c ---- */

/* Notes that the node at `index` may be above others: node_key() -> index + 1. 0 or -ENOMEM. */
int tree_above_put(struct map *numbers, const struct node *n, size_t index);

/*
 * Adds a node that stands in for the thread or span of a request, with the id `above` (0: none), if
 * nothing else tells of it. Its time is unknown. 0 or -ENOMEM.
 */
int tree_stand_in(struct tree *tree, struct map *numbers, const struct node *child, u64 above);

/* ---- tree_order.c ---- */

/* Sorts the nodes and makes tree->order. 0 or -ENOMEM. */
int tree_order(struct tree *tree);

#endif
