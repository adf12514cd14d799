/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static int span_compare(const void *a, const void *b, void *spans)
{
	const struct span_view *one = (const struct span_view *)spans + *(const size_t *)a;
	const struct span_view *other = (const struct span_view *)spans + *(const size_t *)b;

	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns > other->end_ns ? -1 : 1;
	return strcmp(one->span_id, other->span_id);
}

void trace_tree_free(struct trace_tree *tree)
{
	free(tree->order);
	free(tree->parent);
	free(tree->first_child);
	free(tree->next_sibling);
	free(tree->shown);
}

static int tree_find_parents(struct trace_tree *tree)
{
	const struct trace_view *trace = tree->trace;
	struct bytes_map ids = {0};
	int err = 0;

	for (size_t i = 0; i < trace->spans_count && !err; i++)
		err = bytes_map_put(&ids, trace->spans[i].span_id, strlen(trace->spans[i].span_id),
				    (void *)(i + 1));
	for (size_t i = 0; i < trace->spans_count && !err; i++) {
		const char *id = trace->spans[i].parent_id;
		size_t place = (size_t)bytes_map_get(&ids, id, strlen(id));

		tree->parent[i] = *id && place && place - 1 != i ? place - 1 : TRACE_TREE_NONE;
	}
	bytes_map_free(&ids);
	return err;
}

int trace_tree_build(struct trace_tree *tree, const struct trace_view *trace)
{
	size_t count = trace->spans_count;
	int err;

	*tree = (struct trace_tree){.trace = trace, .begin_ns = UINT64_MAX};
	tree->order = calloc(count + 1, sizeof(size_t));
	tree->parent = calloc(count + 1, sizeof(size_t));
	tree->first_child = calloc(count + 1, sizeof(size_t));
	tree->next_sibling = calloc(count + 1, sizeof(size_t));
	tree->shown = calloc(count + 1, sizeof(bool));
	err = tree->order && tree->parent && tree->first_child && tree->next_sibling && tree->shown
		      ? tree_find_parents(tree)
		      : -ENOMEM;
	if (err) {
		trace_tree_free(tree);
		return err;
	}
	for (size_t i = 0; i < count; i++) {
		tree->order[i] = i;
		tree->first_child[i] = tree->next_sibling[i] = TRACE_TREE_NONE;
		if (trace->spans[i].begin_ns < tree->begin_ns)
			tree->begin_ns = trace->spans[i].begin_ns;
		if (trace->spans[i].end_ns > tree->end_ns)
			tree->end_ns = trace->spans[i].end_ns;
	}
	qsort_r(tree->order, count, sizeof(size_t), span_compare, (void *)trace->spans);
	for (size_t i = count; i-- > 0;) {
		size_t span = tree->order[i], parent = tree->parent[span];

		if (parent == TRACE_TREE_NONE)
			continue;
		tree->next_sibling[span] = tree->first_child[parent];
		tree->first_child[parent] = span;
	}
	return 0;
}
