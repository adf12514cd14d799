/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the making of a tree: shared by tree.c, restarts.c, stand_ins.c and order.c. */
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

/* ---- restarts.c ---- */

/* Handlers that interrupt handlers; of more, the outermost is forgotten. */
#define PIECES_MAX 16

/* A piece of a call that is to begin again. */
struct piece {
	size_t node;  /* the index of its node */
	size_t nodes; /* how many there were when it had ended */
};

/* The calls of one thread that are to begin again, the innermost last. Starts with all zero. */
struct pieces {
	struct piece list[PIECES_MAX];
	u32 count;
	bool returned; /* its last call was the return from a handler */
	bool follows;  /* its last call was the last piece of the list */
	u64 shown_ns;  /* begin of its last call, with all pieces of that */
};

/*
 * Adds the node of a call, or makes the node of the call that it restarts last as long. Calls of a
 * thread come in the order of their begins. 0 or -ENOMEM.
 */
int tree_call(const struct partial *p, struct tree *tree, struct pieces *in, const struct kspan *k,
	      const struct node *n);

/* The calls that did not begin again have no end that was seen. */
void tree_calls_end(struct tree *tree, const struct pieces *in);

/* ---- stand_ins.c ---- */

/* Notes that the node at `index` may be above others: node_key() -> index + 1. 0 or -ENOMEM. */
int tree_above_put(struct map *numbers, const struct node *n, size_t index);

/*
 * Adds a node that stands in for the thread or span of a request, with the id `above` (0: none), if
 * nothing else tells of it. Its time is unknown. 0 or -ENOMEM.
 */
int tree_stand_in(struct tree *tree, struct map *numbers, const struct node *child, u64 above);

/* ---- order.c ---- */

/* Sorts the nodes and makes tree->order. 0 or -ENOMEM. */
int tree_order(struct tree *tree);

#endif
