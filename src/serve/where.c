/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/where.h"

#include <errno.h>
#include <string.h>

#define NODES_MAX 5000
#define DEPTH_MAX 48

#define NONE UINT32_MAX /* beyond a limit */

static const char *copy_make(struct pool *pool, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = pool_alloc(pool, bytes, 1);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

static int node_make(struct where_tree *tree, uint32_t above, struct where_node node,
		     const struct bytes *key)
{
	uint32_t place = (uint32_t)tree->nodes.count;

	node.name = copy_make(tree->pool, node.name);
	node.service = copy_make(tree->pool, node.service);
	if (!node.name || !node.service)
		return -ENOMEM;
	if (place) {
		node.next = tree->nodes.data[above].first;
		tree->nodes.data[above].first = place;
	}
	if (vec_push(&tree->nodes, node))
		return -ENOMEM;
	return bytes_map_put(&tree->places, key->data, key->count, (void *)(uintptr_t)(place + 1));
}

/* Adds to the node of that kind and name below another one. NONE: there are too many nodes. */
static int node_add(struct where_tree *tree, uint32_t above, struct where_node node, uint32_t *out)
{
	struct bytes key = {0};
	uintptr_t place;
	int err;

	*out = NONE;
	bytes_put_u64(&key, above);
	bytes_put_u8(&key, (uint8_t)node.kind);
	bytes_put(&key, node.service, strlen(node.service) + 1);
	bytes_put(&key, node.name, strlen(node.name));
	err = key.failed ? -ENOMEM : 0;
	place = err ? 0 : (uintptr_t)bytes_map_get(&tree->places, key.data, key.count);
	if (place) {
		struct where_node *known = &tree->nodes.data[place - 1];

		known->count += node.count;
		known->total_ns += node.total_ns;
		known->detailed += node.detailed;
		*out = (uint32_t)place - 1;
	} else if (!err && tree->nodes.count < NODES_MAX) {
		*out = (uint32_t)tree->nodes.count;
		err = node_make(tree, above, node, &key);
	} else {
		tree->left_out++;
	}
	bytes_free(&key);
	return err;
}

/* A wait in a call that is a span itself is told by the call. */
static int waits_add(struct where_tree *tree, uint32_t node, const struct gathered *g,
		     uint32_t above)
{
	const char *kind = gather_kernel_kind(&g->batch.data[above]);
	bool in_call = kind && strcmp(kind, "syscall") == 0;
	int err = 0;

	for (uint32_t at = g->first[above]; at != GATHER_NONE && !err; at = g->next[at]) {
		const struct received_span *span = &g->batch.data[at];
		const char *below = gather_kernel_kind(span);
		char text[GATHER_PLACE_BYTES];
		uint32_t part, place;

		if (!below || at == above)
			continue;
		if (strcmp(below, "wait") != 0) {
			if (!in_call) /* calls do not nest */
				err = waits_add(tree, node, g, at);
			continue;
		}
		gather_place(in_call ? &g->batch.data[above] : span, text);
		err = node_add(
			tree, node,
			(struct where_node){.kind = WHERE_PART, .name = span->name, .service = ""},
			&part);
		if (!err && part != NONE)
			err = node_add(tree, part,
				       (struct where_node){.kind = WHERE_PLACE,
							   .name = text,
							   .service = "",
							   .count = 1,
							   .total_ns = received_duration_ns(span)},
				       &place);
	}
	return err;
}

/* The split of a span without that of its children: their threads are its own while they run. */
static bool own_split(const struct gathered *g, uint32_t at, struct split *own)
{
	if (!gather_split(&g->batch.data[at], own))
		return false;
	for (uint32_t c = g->first[at]; c != GATHER_NONE; c = g->next[c]) {
		struct split below;

		if (gather_kernel_kind(&g->batch.data[c]) ||
		    g->batch.data[c].resource != g->batch.data[at].resource ||
		    !gather_split(&g->batch.data[c], &below))
			continue;
		for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++) {
			int64_t less = below.ns[part];

			own->ns[part] -= less < own->ns[part] ? less : own->ns[part];
		}
	}
	return true;
}

static int parts_add(struct where_tree *tree, uint32_t node, const struct gathered *g, uint32_t at)
{
	struct split own;
	uint32_t part_node;
	int err = 0;

	if (!own_split(g, at, &own))
		return 0;
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT && !err; part++) {
		if (own.ns[part] > 0)
			err = node_add(tree, node,
				       (struct where_node){.kind = WHERE_PART,
							   .name = split_part_name(part),
							   .service = "",
							   .count = 1,
							   .total_ns = (uint64_t)own.ns[part]},
				       &part_node);
	}
	return err;
}

static int span_add(struct where_tree *tree, uint32_t above, const struct gathered *g, uint32_t at,
		    unsigned int depth)
{
	const struct received_span *span = &g->batch.data[at];
	const struct where_node node = {.kind = WHERE_SPAN,
					.name = span->name,
					.service = span->resource->service,
					.count = 1,
					.total_ns = received_duration_ns(span),
					.detailed = gather_attribute(span, "fathom.kernel.why") !=
						    NULL};
	uint32_t here;
	int err = node_add(tree, above, node, &here);

	if (err || here == NONE)
		return err;
	err = parts_add(tree, here, g, at);
	err = err ? err : waits_add(tree, here, g, at);
	for (uint32_t c = g->first[at]; c != GATHER_NONE && depth && !err; c = g->next[c]) {
		if (!gather_kernel_kind(&g->batch.data[c]))
			err = span_add(tree, here, g, c, depth - 1);
	}
	return err;
}

int where_add(struct where_tree *tree, const struct gathered *g)
{
	int err = 0;

	for (size_t i = 0; i < g->subjects.count && !err; i++)
		err = span_add(tree, NONE, g, g->subjects.data[i], DEPTH_MAX);
	return err;
}

/* Moves the longest to the front, one after another: a node has few below it. */
static void children_sort(struct where_tree *tree, struct where_node *node)
{
	struct where_node *nodes = tree->nodes.data;
	uint32_t sorted = 0;

	while (node->first) {
		uint32_t least = node->first, before = 0, least_before = 0;

		for (uint32_t at = node->first; at; before = at, at = nodes[at].next) {
			if (nodes[at].total_ns < nodes[least].total_ns) {
				least = at;
				least_before = before;
			}
		}
		if (least_before)
			nodes[least_before].next = nodes[least].next;
		else
			node->first = nodes[least].next;
		nodes[least].next = sorted;
		sorted = least;
	}
	node->first = sorted;
}

/* Only some spans tell places: what those have of a part stands for all of it. */
static void places_scale(struct where_tree *tree, const struct where_node *part)
{
	struct where_node *nodes = tree->nodes.data;
	uint64_t told_ns = 0;

	for (uint32_t at = part->first; at; at = nodes[at].next)
		told_ns += nodes[at].total_ns;
	for (uint32_t at = part->first; at && told_ns; at = nodes[at].next)
		nodes[at].total_ns =
			(uint64_t)((__uint128_t)nodes[at].total_ns * part->total_ns / told_ns);
}

void where_finish(struct where_tree *tree)
{
	for (size_t i = 0; i < tree->nodes.count; i++) {
		if (tree->nodes.data[i].kind == WHERE_PART)
			places_scale(tree, &tree->nodes.data[i]);
		children_sort(tree, &tree->nodes.data[i]);
	}
}

void where_free(struct where_tree *tree)
{
	bytes_map_free(&tree->places);
	vec_free(&tree->nodes);
}
