/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/number_table.h"

static int position_compare(const struct span_position *one, const struct span_position *other)
{
	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns > other->end_ns ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

static int span_compare(const void *a, const void *b, void *arg)
{
	const struct trace *trace = arg;
	const struct span_position one = trace->position(trace, *(const uint32_t *)a);
	const struct span_position other = trace->position(trace, *(const uint32_t *)b);

	return position_compare(&one, &other);
}

void trace_tree_free(struct trace_tree *tree)
{
	free(tree->order);
	free(tree->parent);
	free(tree->first_child);
	free(tree->next_sibling);
	free(tree->shown);
}

/* The entry of the span with this id, or the free entry for it. */
static uint32_t *place_of(const struct number_table *places, const struct trace *trace, uint64_t id)
{
	uint32_t *place = number_table_home(places, hash_u64(id));

	while (*place && trace->position(trace, *place - 1).id != id)
		place = number_table_next(places, place);
	return place;
}

/* How many levels above the previous span a parent is searched for. */
#define LINE_MOST 64

/* Most spans follow depth first: the parent is the previous span, or one above it. */
static uint32_t parent_near(const struct trace_tree *tree, uint32_t i, uint64_t id)
{
	uint32_t at = i ? i - 1 : TRACE_TREE_NONE;

	for (int up = 0; at != TRACE_TREE_NONE && up < LINE_MOST; up++) {
		if (tree->trace->position(tree->trace, at).id == id)
			return at;
		at = tree->parent[at];
	}
	return TRACE_TREE_NONE;
}

static int places_fill(struct number_table *places, const struct trace *trace)
{
	int err = number_table_init(places, trace->spans_count);

	for (uint32_t i = 0; i < trace->spans_count && !err; i++)
		*place_of(places, trace, trace->position(trace, i).id) = i + 1;
	return err;
}

/* Finds the index of the parent of span `i` by its id. 0 or -ENOMEM. */
static int parent_find(const struct trace_tree *tree, struct number_table *places, uint32_t i,
		       uint64_t id)
{
	uint32_t parent = id ? parent_near(tree, i, id) : TRACE_TREE_NONE;
	int err = 0;

	if (id && parent == TRACE_TREE_NONE) {
		err = places->places ? 0 : places_fill(places, tree->trace);
		parent = err ? parent : *place_of(places, tree->trace, id) - 1; /* 0: none */
	}
	tree->parent[i] = parent != i ? parent : TRACE_TREE_NONE;
	return err;
}

/* Copies the fields that are needed, since all spans together exceed the caches. 0 or -ENOMEM. */
static int tree_look(struct trace_tree *tree, uint32_t count, bool *sorted)
{
	struct span_position at, before = {0};
	struct number_table places = {0};
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++, before = at) {
		at = tree->trace->position(tree->trace, i);
		tree->order[i] = i;
		tree->first_child[i] = tree->next_sibling[i] = TRACE_TREE_NONE;
		*sorted &= !i || position_compare(&before, &at) <= 0;
		if (at.begin_ns < tree->begin_ns)
			tree->begin_ns = at.begin_ns;
		if (at.end_ns > tree->end_ns)
			tree->end_ns = at.end_ns;
		err = parent_find(tree, &places, i, at.parent);
	}
	number_table_free(&places);
	return err;
}

/* Most spans are nearly in order, which few moves complete. Others are sorted. */
static void tree_sort(struct trace_tree *tree, uint32_t count)
{
	const struct trace *trace = tree->trace;
	uint32_t moves = 0;

	for (uint32_t i = 1; i < count; i++) {
		uint32_t at = i;

		for (; at && span_compare(&tree->order[at - 1], &i, (void *)trace) > 0; at--) {
			if (++moves > count)
				break;
			tree->order[at] = tree->order[at - 1];
		}
		tree->order[at] = i;
		if (moves > count)
			break;
	}
	if (moves > count)
		qsort_r(tree->order, count, sizeof(*tree->order), span_compare, (void *)trace);
}

static void tree_link(struct trace_tree *tree, uint32_t count)
{
	for (uint32_t i = count; i-- > 0;) {
		uint32_t span = tree->order[i], parent = tree->parent[span];

		if (parent == TRACE_TREE_NONE)
			continue;
		tree->next_sibling[span] = tree->first_child[parent];
		tree->first_child[parent] = span;
	}
}

int trace_tree_build(struct trace_tree *tree, const struct trace *trace)
{
	size_t count = trace->spans_count;
	bool sorted = true;
	int err = 0;

	*tree = (struct trace_tree){.trace = trace, .begin_ns = UINT64_MAX};
	tree->parent = calloc(count + 1, sizeof(*tree->parent));
	tree->order = calloc(count + 1, sizeof(*tree->order));
	tree->first_child = calloc(count + 1, sizeof(*tree->first_child));
	tree->next_sibling = calloc(count + 1, sizeof(*tree->next_sibling));
	tree->shown = calloc(count + 1, sizeof(*tree->shown));
	if (!tree->parent || !tree->order || !tree->first_child || !tree->next_sibling ||
	    !tree->shown)
		err = -ENOMEM;
	err = err ? err : tree_look(tree, (uint32_t)count, &sorted);
	if (err) {
		trace_tree_free(tree);
		return err;
	}
	if (!sorted)
		tree_sort(tree, (uint32_t)count);
	tree_link(tree, (uint32_t)count);
	return 0;
}
