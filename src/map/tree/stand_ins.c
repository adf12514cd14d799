/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for what nothing tells of but that something is below it. */
#include "map/tree/internal.h"

#include <string.h>

int tree_above_put(struct map *numbers, const struct node *n, size_t index)
{
	return map_put(numbers, node_key(n->trace, n->id), (void *)(index + 1));
}

static int stand_in_add(struct tree *tree, struct map *numbers, const struct node *child, u64 id)
{
	static const u8 none[16];
	bool thread = memcmp(child->trace, none, sizeof(none)) == 0;
	struct node n = {.kind = thread ? NODE_THREAD : NODE_CONTEXT,
			 .id = id,
			 .tid = child->tid,
			 .pid = child->pid,
			 .begin_ns = child->begin_ns,
			 .end_ns = child->end_ns,
			 .begin_soft = true,
			 .end_soft = true};
	int err;

	memcpy(n.trace, child->trace, sizeof(n.trace));
	err = tree_above_put(numbers, &n, tree->nodes.count);
	return err ? err : vec_push(&tree->nodes, n);
}

static void stand_in_widen(struct node *n, const struct node *child)
{
	if (child->begin_ns < n->begin_ns)
		n->begin_ns = child->begin_ns;
	if (child->end_ns > n->end_ns)
		n->end_ns = child->end_ns;
}

int tree_stand_in(struct tree *tree, struct map *numbers, const struct node *child, u64 above)
{
	size_t up = above ? (size_t)map_get(numbers, node_key(child->trace, above)) : 0;
	struct node *n = up ? &tree->nodes.data[up - 1] : NULL;

	if (above && (!n || n->id != above || memcmp(n->trace, child->trace, 16) != 0))
		return stand_in_add(tree, numbers, child, above);
	if (n && !n->of)
		stand_in_widen(n, child);
	return 0;
}
