/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/traces.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "answer/span_make.h"
#include "map/fact/query.h"

/* The nodes [first, end) of the tree, in its order, are one trace, or the tree of one thread. */
struct stretch {
	u32 first, end;
	u64 duration_ns;
};

static bool under_no_span(const struct node *n)
{
	static const u8 none[16];

	return memcmp(n->trace, none, sizeof(none)) == 0;
}

/* The tree has only those spans of the kernel that were asked for. */
static bool shown(const struct node *n, const struct trace_choice *c)
{
	return node_is_kernel(n) ||
	       ((!c->pid || n->pid == c->pid) && (!c->tid || n->tid == c->tid));
}

static bool chosen(const struct forest *forest, const struct stretch *s,
		   const struct trace_choice *c)
{
	const struct partial *p = forest->p;
	const struct tree *tree = forest->tree;
	const struct node *root = tree_node(tree, s->first);
	bool name = !c->name, service = !c->service, any = false;

	if (c->trace_id) {
		char id[TRACE_ID_BYTES];

		trace_id_format(id, root->trace);
		if (strcasecmp(id, c->trace_id) != 0)
			return false;
	}
	for (size_t i = s->first; i < s->end && !(name && service && any); i++) {
		const struct node *n = tree_node(tree, i);
		const struct app_span *app = node_app(p, n);
		const char *of;

		any |= shown(n, c);
		if (!app)
			continue;
		if (!name && app->name && fnmatch(c->name, app->name, 0) == 0)
			name = true;
		of = service ? NULL : query_resource(p, n->pid, n->begin_ns, "service.name");
		if (of && strcmp(of, c->service) == 0)
			service = true;
	}
	return name && service && any;
}

static int stretch_slower(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->duration_ns != y->duration_ns)
		return x->duration_ns > y->duration_ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Makes the spans of one trace after the other. */
struct maker {
	struct span_builder builder;
	size_t first;	  /* node of the trace, in the order of the tree */
	VEC(u32) shown;	  /* places of the spans that are given, from there on; empty: all */
	const char *host; /* of the trace, if the answer is of several; NULL: of one */
};

static const struct node *maker_node(const struct maker *maker, size_t index)
{
	size_t at = maker->shown.count ? maker->shown.data[index] : index;

	return tree_node(maker->builder.tree, maker->first + at);
}

static struct span_position span_position(const struct trace *trace, size_t index)
{
	const struct node *n = maker_node(trace->maker, index);

	return (struct span_position){n->id, n->parent, n->begin_ns, n->end_ns, node_is_kernel(n)};
}

static const struct span *span_at(const struct trace *trace, size_t index, bool brief)
{
	struct maker *maker = trace->maker;

	return span_make(&maker->builder, maker_node(maker, index), brief);
}

/* Finds the spans that are given. A trace that was chosen has at least one. */
static int shown_collect(struct maker *maker, const struct stretch *s,
			 const struct trace_choice *choice)
{
	int err = 0;

	maker->shown.count = 0;
	if (!choice->pid && !choice->tid)
		return 0;
	for (u32 i = 0; i < s->end - s->first && !err; i++)
		if (shown(tree_node(maker->builder.tree, s->first + i), choice))
			err = vec_push(&maker->shown, i);
	return err;
}

static int trace_give(struct maker *maker, const struct stretch *s,
		      const struct trace_choice *choice, const struct trace_sink *to)
{
	const struct node *root = tree_node(maker->builder.tree, s->first);
	struct trace view = {.position = span_position, .span = span_at, .maker = maker};
	int err = shown_collect(maker, s, choice);

	if (err)
		return err;
	view.host = maker->host;
	maker->first = s->first;
	trace_id_format(view.trace_id, root->trace);
	view.spans_count = maker->shown.count ? maker->shown.count : s->end - s->first;
	return to->take(to->arg, &view);
}

/* Cuts the nodes into traces, and the nodes that are under no span into threads. */
static int stretches(const struct tree *tree, struct stretch **out, size_t *count)
{
	VEC(struct stretch) list = {0};
	int err = 0;

	for (u32 i = 0; i < tree->nodes.count && !err;) {
		const struct node *root = tree_node(tree, i);
		struct stretch s = {.first = i};
		u64 begin = root->begin_ns, end = root->end_ns;

		for (i++; i < tree->nodes.count; i++) {
			const struct node *n = tree_node(tree, i);

			if (memcmp(n->trace, root->trace, 16) != 0)
				break;
			if (under_no_span(root) && (!n->parent || n->kind == NODE_THREAD))
				break;
			if (n->begin_ns < begin)
				begin = n->begin_ns;
			if (n->end_ns > end)
				end = n->end_ns;
		}
		s.end = i;
		s.duration_ns = end - begin;
		err = vec_push(&list, s);
	}
	*out = list.data;
	*count = list.count;
	return err;
}

/* Finds the chosen ones, in the order in which they are given. */
static int stretches_chosen(const struct forest *forest, const struct trace_choice *choice,
			    struct stretch **out, size_t *chosen_count)
{
	struct stretch *list = NULL;
	size_t count = 0, kept = 0;
	int err = stretches(forest->tree, &list, &count);

	for (size_t i = 0; i < count && !err; i++)
		if (chosen(forest, &list[i], choice))
			list[kept++] = list[i];
	if (choice->slowest && kept) {
		qsort(list, kept, sizeof(*list), stretch_slower);
		if (kept > choice->slowest)
			kept = choice->slowest;
	}
	*out = list;
	*chosen_count = kept;
	return err;
}

static int id_compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

int trace_choose(const struct forest *forest, const struct trace_choice *choice,
		 struct trace_ids *ids)
{
	struct stretch *list = NULL;
	size_t count = 0;
	int err = stretches_chosen(forest, choice, &list, &count);

	if (!err)
		err = vec_reserve(ids, count);
	for (size_t i = 0; i < count && !err; i++)
		memcpy(ids->data[ids->count++], tree_node(forest->tree, list[i].first)->trace, 16);
	if (ids->count)
		qsort(ids->data, ids->count, 16, id_compare);
	free(list);
	return err;
}

int trace_build(const struct forest *forest, const struct trace_choice *choice,
		const struct trace_sink *to, size_t *given)
{
	struct maker maker = {
		.builder = {.p = forest->p, .tree = forest->tree, .host = forest->host},
		.host = forest->several ? forest->host : NULL};
	struct stretch *list = NULL;
	size_t count = 0;
	int err = stretches_chosen(forest, choice, &list, &count);

	for (size_t i = 0; i < count && !err; i++)
		err = trace_give(&maker, &list[i], choice, to);
	*given = count;
	free(list);
	vec_free(&maker.shown);
	builder_free(&maker.builder);
	return err;
}
