/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the nodes of a tree: depth first. */
#include "base/order.h"
#include "map/tree/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number_table.h"

static bool no_trace(const struct node *n)
{
	static const u8 none[16];

	return memcmp(n->trace, none, sizeof(none)) == 0;
}

static int node_compare(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int traces = memcmp(x->trace, y->trace, sizeof(x->trace));

	if (no_trace(x) != no_trace(y))
		return no_trace(x) ? 1 : -1;
	if (traces)
		return traces;
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(y->end_ns, x->end_ns);
	COMPARE(x->kind, y->kind);
	COMPARE(x->tid, y->tid);
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Numbers of nodes + 1; 0: none. */
struct ordering {
	u32 *first_child, *next, *up;
	u32 *order;   /* numbers of nodes: as far as it is made */
	size_t count; /* of order */
};

/* Iterative, since a thread can nest as deep as its input says. */
static void emit_from(struct ordering *o, u32 root)
{
	for (u32 at = root;;) {
		o->order[o->count++] = at;
		if (o->first_child[at]) {
			at = o->first_child[at] - 1;
			continue;
		}
		while (at != root && !o->next[at])
			at = o->up[at] - 1;
		if (at == root)
			return;
		at = o->next[at] - 1;
	}
}

/* Makes a node a root: it is no child of its parent any more. */
static void circle_open(struct ordering *o, u32 root)
{
	u32 *link = &o->first_child[o->up[root - 1] - 1];

	while (*link != root)
		link = &o->next[*link - 1];
	*link = o->next[root - 1];
	o->next[root - 1] = o->up[root - 1] = 0;
}

/*
 * Opens circles of parents, which no program intends: the first node of one becomes a root. Each
 * node is walked over once: `walk` has the number of the walk that saw it first.
 */
static void circles_open(struct ordering *o, u32 *walk, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		u32 at = i + 1, first;

		for (; at && !walk[at - 1]; at = o->up[at - 1])
			walk[at - 1] = i + 1;
		if (!at || walk[at - 1] != i + 1)
			continue; /* at a root, or at a node that another walk saw */
		first = at;
		for (u32 on = o->up[at - 1]; on != at; on = o->up[on - 1])
			first = on < first ? on : first;
		circle_open(o, first);
	}
}

/* The place of the number of the node with that id in that trace, or where it belongs. */
static u32 *number_place(const struct number_table *numbers, const struct tree *tree,
			 const u8 trace[16], u64 id)
{
	u32 *place = number_table_home(numbers, node_key(trace, id));

	for (; *place; place = number_table_next(numbers, place)) {
		const struct node *n = &tree->nodes.data[*place - 1];

		if (n->id == id && memcmp(n->trace, trace, 16) == 0)
			break;
	}
	return place;
}

static int link_children(struct tree *tree, struct ordering *o)
{
	struct number_table numbers;
	u32 n = (u32)tree->nodes.count;
	int err = number_table_init(&numbers, n);

	for (u32 i = 0; i < n && !err; i++) {
		const struct node *node = &tree->nodes.data[i];
		u32 *place = number_place(&numbers, tree, node->trace, node->id);

		*place = *place ? *place : i + 1;
	}
	for (u32 i = n; i-- > 0 && !err;) {
		struct node *node = &tree->nodes.data[i];
		u32 up = node->parent ? *number_place(&numbers, tree, node->trace, node->parent)
				      : 0;

		if (!up || up == i + 1) {
			/* its parent is elsewhere, or was lost: the node is a root */
			if (node->kind != NODE_APP)
				node->parent = 0;
			continue;
		}
		o->next[i] = o->first_child[up - 1];
		o->first_child[up - 1] = i + 1;
		o->up[i] = up;
	}
	number_table_free(&numbers);
	return err;
}

static int order_make(struct tree *tree, struct ordering *o)
{
	u32 n = (u32)tree->nodes.count;
	int err;

	o->first_child = calloc(n, sizeof(u32));
	o->next = calloc(n, sizeof(u32));
	o->up = calloc(n, sizeof(u32));
	err = o->first_child && o->next && o->up ? link_children(tree, o) : -ENOMEM;
	if (err)
		return err;
	tree->order = o->order = calloc(n, sizeof(u32));
	if (!o->order)
		return -ENOMEM;
	circles_open(o, o->order, n); /* before there is any order */
	for (u32 i = 0; i < n; i++)
		if (!o->up[i])
			emit_from(o, i);
	return 0;
}

int tree_order(struct tree *tree)
{
	struct ordering o = {0};
	int err;

	if (tree->nodes.count == 0)
		return 0;
	qsort(tree->nodes.data, tree->nodes.count, sizeof(*tree->nodes.data), node_compare);
	err = order_make(tree, &o);
	free(o.first_child);
	free(o.next);
	free(o.up);
	return err;
}
