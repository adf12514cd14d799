/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/where.h"

#include <errno.h>
#include <string.h>

#include "serve/time_shares.h"

#define NODES_MAX 5000
#define DEPTH_MAX 48
#define WAITS_DEPTH_MAX 4 /* of what the kernel did */

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
		known->width_ns += node.width_ns;
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

/* Spans that are added to a tree. */
struct adding {
	struct where_tree *tree;
	const struct gathered *g;
	bool is_over; /* the time for it */
};

/* A span that is added, and its node. */
struct added {
	uint32_t at, node;
	uint64_t width_ns;
	struct time_shares shares;
};

static int wait_add(const struct adding *a, const struct added *to,
		    const struct received_span *wait, const struct received_span *call)
{
	uint64_t ns = time_shares_wait_ns(&to->shares, wait);
	char text[GATHER_PLACE_BYTES];
	uint32_t part, place;
	int err;

	if (!ns)
		return 0;
	gather_place(wait, call, text);
	err = node_add(a->tree, to->node,
		       (struct where_node){.kind = WHERE_PART, .name = wait->name, .service = ""},
		       &part);
	if (err || part == NONE)
		return err;
	return node_add(a->tree, part,
			(struct where_node){.kind = WHERE_PLACE,
					    .name = text,
					    .service = "",
					    .count = 1,
					    .total_ns = ns},
			&place);
}

/* A wait in a call that is a span itself is told by the call. Calls do not nest. */
static int waits_add(const struct adding *a, const struct added *to, uint32_t above,
		     unsigned int depth)
{
	const struct received_span *spans = a->g->batch.data;
	const char *kind = gather_kernel_kind(&spans[above]);
	bool in_call = kind && strcmp(kind, "syscall") == 0;
	int err = 0;

	for (uint32_t at = a->g->first[above]; at != GATHER_NONE && !err; at = a->g->next[at]) {
		const char *below = gather_kernel_kind(&spans[at]);

		if (!below || at == above)
			continue;
		if (strcmp(below, "wait") == 0)
			err = wait_add(a, to, &spans[at], in_call ? &spans[above] : NULL);
		else if (!in_call && depth)
			err = waits_add(a, to, at, depth - 1);
	}
	return err;
}

/* The time of the span that no child has. */
static int parts_add(const struct adding *a, const struct added *to, struct scale *scale)
{
	const struct split *own = &to->shares.own;
	uint32_t part_node;
	int err = 0;

	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT && !err; part++) {
		uint64_t ns = (uint64_t)own->ns[part];

		if (ns)
			err = node_add(a->tree, to->node,
				       (struct where_node){.kind = WHERE_PART,
							   .name = split_part_name(part),
							   .service = "",
							   .count = 1,
							   .total_ns = ns,
							   .width_ns = scale_next(scale, ns)},
				       &part_node);
	}
	return err;
}

static int span_add(struct adding *a, uint32_t above, struct added to, unsigned int depth)
{
	const struct received_span *span = &a->g->batch.data[to.at];
	const struct where_node node = {.kind = WHERE_SPAN,
					.name = span->name,
					.service = span->resource->service,
					.count = 1,
					.total_ns = received_duration_ns(span),
					.width_ns = to.width_ns,
					.detailed = gather_attribute(span, "fathom.kernel.why") !=
						    NULL};
	struct scale scale = {.from_ns = node.total_ns, .to_ns = to.width_ns};
	int err = node_add(a->tree, above, node, &to.node);

	if (err || to.node == NONE)
		return err;
	err = time_shares_calculate(a->g, to.at, &to.shares);
	err = err ? err : parts_add(a, &to, &scale);
	err = err ? err : waits_add(a, &to, to.at, WAITS_DEPTH_MAX);
	a->is_over = a->is_over || gathered_is_over(a->g);
	for (size_t i = 0; i < to.shares.children.count && depth && !err && !a->is_over; i++) {
		const struct child_share *child = &to.shares.children.data[i];

		err = span_add(a, to.node,
			       (struct added){.at = child->at,
					      .width_ns = scale_next(&scale, child->share_ns)},
			       depth - 1);
	}
	time_shares_free(&to.shares);
	return err;
}

int where_add(struct where_tree *tree, const struct gathered *g)
{
	struct adding a = {tree, g, gathered_is_over(g)};
	int err = 0;

	for (size_t i = 0; i < g->subjects.count && !err && !a.is_over; i++) {
		uint32_t at = g->subjects.data[i];
		struct added to = {.at = at, .width_ns = received_duration_ns(&g->batch.data[at])};

		err = span_add(&a, NONE, to, DEPTH_MAX);
		tree->spans++;
	}
	tree->is_partial = tree->is_partial || a.is_over;
	return err;
}

static bool is_shorter(const struct where_node *a, const struct where_node *b)
{
	return a->width_ns != b->width_ns ? a->width_ns < b->width_ns : a->total_ns < b->total_ns;
}

/* Moves the longest to the front, one after another: a node has few below it. */
static void children_sort(struct where_tree *tree, struct where_node *node)
{
	struct where_node *nodes = tree->nodes.data;
	uint32_t sorted = 0;

	while (node->first) {
		uint32_t least = node->first, before = 0, least_before = 0;

		for (uint32_t at = node->first; at; before = at, at = nodes[at].next) {
			if (is_shorter(&nodes[at], &nodes[least])) {
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
	struct scale total, width;
	uint64_t told_ns = 0;

	for (uint32_t at = part->first; at; at = nodes[at].next)
		told_ns += nodes[at].total_ns;
	total = (struct scale){.from_ns = told_ns, .to_ns = part->total_ns};
	width = (struct scale){.from_ns = told_ns, .to_ns = part->width_ns};
	for (uint32_t at = part->first; at && told_ns; at = nodes[at].next) {
		uint64_t ns = nodes[at].total_ns;

		nodes[at].total_ns = scale_next(&total, ns);
		nodes[at].width_ns = scale_next(&width, ns);
	}
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
