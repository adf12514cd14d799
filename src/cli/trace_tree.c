/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/number_table.h"

static int span_compare(const void *a, const void *b, void *arg)
{
	const struct trace_view *trace = arg;
	const struct span_position one = trace->position(trace, *(const uint32_t *)a);
	const struct span_position other = trace->position(trace, *(const uint32_t *)b);

	if (one.begin_ns != other.begin_ns)
		return one.begin_ns < other.begin_ns ? -1 : 1;
	if (one.end_ns != other.end_ns)
		return one.end_ns > other.end_ns ? -1 : 1;
	return one.id < other.id ? -1 : one.id > other.id;
}

void trace_tree_free(struct trace_tree *tree)
{
	free(tree->order);
	free(tree->parent);
	free(tree->first_child);
	free(tree->next_sibling);
	free(tree->shown);
}

/* Where the place of the span of that id stands, or belongs. */
static uint32_t *place_of(const struct number_table *places, const struct trace_view *trace,
			  uint64_t id)
{
	uint32_t *place = number_table_home(places, hash_u64(id));

	while (*place && trace->position(trace, *place - 1).id != id)
		place = number_table_next(places, place);
	return place;
}

static int tree_find_parents(struct trace_tree *tree)
{
	const struct trace_view *trace = tree->trace;
	struct number_table places;
	int err = number_table_init(&places, trace->spans_count);

	for (uint32_t i = 0; i < trace->spans_count && !err; i++)
		*place_of(&places, trace, trace->position(trace, i).id) = i + 1;
	for (uint32_t i = 0; i < trace->spans_count && !err; i++) {
		uint64_t id = trace->position(trace, i).parent;
		uint32_t place = id ? *place_of(&places, trace, id) : 0;

		tree->parent[i] = place && place - 1 != i ? place - 1 : TRACE_TREE_NONE;
	}
	number_table_free(&places);
	return err;
}

/* Most come in this order already, which needs no sorting. */
static void tree_sort(struct trace_tree *tree, uint32_t count)
{
	struct trace_view *trace = (struct trace_view *)tree->trace;
	bool sorted = true;

	for (uint32_t i = 0; i < count; i++) {
		tree->order[i] = i;
		sorted &= !i || span_compare(&tree->order[i - 1], &tree->order[i], trace) <= 0;
	}
	if (!sorted)
		qsort_r(tree->order, count, sizeof(*tree->order), span_compare, trace);
}

static void tree_link(struct trace_tree *tree, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct span_position at = tree->trace->position(tree->trace, i);

		tree->first_child[i] = tree->next_sibling[i] = TRACE_TREE_NONE;
		if (at.begin_ns < tree->begin_ns)
			tree->begin_ns = at.begin_ns;
		if (at.end_ns > tree->end_ns)
			tree->end_ns = at.end_ns;
	}
	for (uint32_t i = count; i-- > 0;) {
		uint32_t span = tree->order[i], parent = tree->parent[span];

		if (parent == TRACE_TREE_NONE)
			continue;
		tree->next_sibling[span] = tree->first_child[parent];
		tree->first_child[parent] = span;
	}
}

int trace_tree_build(struct trace_tree *tree, const struct trace_view *trace)
{
	size_t count = trace->spans_count;
	int err;

	*tree = (struct trace_tree){.trace = trace, .begin_ns = UINT64_MAX};
	tree->parent = calloc(count + 1, sizeof(*tree->parent));
	err = tree->parent ? tree_find_parents(tree) : -ENOMEM;
	tree->order = calloc(count + 1, sizeof(*tree->order));
	tree->first_child = calloc(count + 1, sizeof(*tree->first_child));
	tree->next_sibling = calloc(count + 1, sizeof(*tree->next_sibling));
	tree->shown = calloc(count + 1, sizeof(*tree->shown));
	if (!tree->order || !tree->first_child || !tree->next_sibling || !tree->shown)
		err = -ENOMEM;
	if (err) {
		trace_tree_free(tree);
		return err;
	}
	tree_sort(tree, (uint32_t)count);
	tree_link(tree, (uint32_t)count);
	return 0;
}
