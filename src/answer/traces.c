/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer/span_make.h"
#include "answer/trace_shown.h"
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

/* Makes the spans of one trace after the other. */
struct maker {
	struct span_builder builder;
	const struct forest *forest;
	const struct trace_choice *choice;
	size_t first; /* node of the trace, in the order of the tree */
	struct trace_shown shown;
	bool all; /* no span is left out */
};

static bool text_equal(const char *one, const char *other)
{
	return one && strcmp(one, other) == 0;
}

/* Whether its spans have what the choice asks of a trace. */
static bool stretch_fits(const struct forest *forest, const struct stretch *s,
			 const struct trace_choice *c)
{
	const struct partial *p = forest->p;
	bool name = !c->name, service = !c->service;

	if (c->trace_id) {
		char id[TRACE_ID_BYTES];

		trace_id_format(id, tree_node(forest->tree, s->first)->trace);
		if (strcasecmp(id, c->trace_id) != 0)
			return false;
	}
	for (size_t i = s->first; i < s->end && !(name && service); i++) {
		const struct node *n = tree_node(forest->tree, i);
		const struct app_span *app = node_app(p, n);

		if (!app)
			continue;
		name |= c->name && span_name_fits(app, c->name);
		service |= c->service &&
			   text_equal(query_resource(p, n->pid, n->begin_ns, "service.name"),
				      c->service);
	}
	return name && service;
}

/* Finds the spans of a trace that are given: none if the trace is not chosen. 0 or -ENOMEM. */
static int stretch_look(struct maker *maker, const struct stretch *s, bool *chosen)
{
	int err;

	*chosen = stretch_fits(maker->forest, s, maker->choice);
	if (!*chosen || maker->all)
		return 0;
	err = trace_shown_find(&maker->shown, &maker->builder, maker->choice,
			       &(struct trace_nodes){maker->forest->tree, s->first, s->end});
	*chosen = maker->shown.list.count;
	return err;
}

static int stretch_slower(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->duration_ns != y->duration_ns)
		return x->duration_ns > y->duration_ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static const struct node *maker_node(const struct maker *maker, size_t index)
{
	size_t at = maker->all ? index : maker->shown.list.data[index];

	return tree_node(maker->builder.tree, maker->first + at);
}

static struct span_position span_position(const struct trace *trace, size_t index)
{
	const struct node *n = maker_node(trace->maker, index);

	return (struct span_position){n->id,	 n->parent,	    n->begin_ns,
				      n->end_ns, node_is_kernel(n), 0};
}

static const struct span *span_at(const struct trace *trace, size_t index, bool brief)
{
	struct maker *maker = trace->maker;

	return span_make(&maker->builder, maker_node(maker, index), brief);
}

static int trace_give(struct maker *maker, const struct stretch *s, const struct trace_sink *to)
{
	const struct forest *forest = maker->forest;
	const struct node *root = tree_node(forest->tree, s->first);
	struct trace view = {.position = span_position, .span = span_at, .maker = maker};
	bool chosen;
	int err = stretch_look(maker, s, &chosen);

	if (err || !chosen)
		return err;
	view.host = forest->several ? forest->host : NULL;
	view.clocks = forest->clocks;
	view.clocks_count = forest->clocks_count;
	maker->first = s->first;
	trace_id_format(view.trace_id, root->trace);
	view.spans_count = maker->all ? s->end - s->first : maker->shown.list.count;
	view.left_out = maker->shown.left_out;
	view.left_out_ns = maker->shown.left_out_ns;
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
static int stretches_chosen(struct maker *maker, struct stretch **out, size_t *chosen_count)
{
	const struct trace_choice *choice = maker->choice;
	struct stretch *list = NULL;
	size_t count = 0, kept = 0;
	int err = stretches(maker->forest->tree, &list, &count);

	for (size_t i = 0; i < count && !err; i++) {
		bool chosen = false;

		err = stretch_look(maker, &list[i], &chosen);
		if (!err && chosen)
			list[kept++] = list[i];
	}
	if (choice->slowest && kept) {
		qsort(list, kept, sizeof(*list), stretch_slower);
		if (kept > choice->slowest)
			kept = choice->slowest;
	}
	if (choice->limit && kept > choice->limit)
		kept = choice->limit;
	*out = list;
	*chosen_count = kept;
	return err;
}

static struct maker maker_of(const struct forest *forest, const struct trace_choice *choice)
{
	const struct partial_options *range = &forest->p->options;

	return (struct maker){
		.builder = {.p = forest->p, .tree = forest->tree, .host = forest->host},
		.forest = forest,
		.choice = choice,
		.all = filter_is_empty(&choice->filter) && !choice->min_ns && !range->from_ns &&
		       !range->to_ns};
}

static void maker_free(struct maker *maker)
{
	trace_shown_free(&maker->shown);
	builder_free(&maker->builder);
}

static int id_compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

int trace_choose(const struct forest *forest, const struct trace_choice *choice,
		 struct trace_ids *ids)
{
	struct maker maker = maker_of(forest, choice);
	struct stretch *list = NULL;
	size_t count = 0;
	int err = stretches_chosen(&maker, &list, &count);

	if (!err)
		err = vec_reserve(ids, count);
	for (size_t i = 0; i < count && !err; i++)
		memcpy(ids->data[ids->count++], tree_node(forest->tree, list[i].first)->trace, 16);
	if (ids->count)
		qsort(ids->data, ids->count, 16, id_compare);
	free(list);
	maker_free(&maker);
	return err;
}

int trace_build(const struct forest *forest, const struct trace_choice *choice,
		const struct trace_sink *to, size_t *given)
{
	struct maker maker = maker_of(forest, choice);
	struct stretch *list = NULL;
	size_t count = 0;
	int err = stretches_chosen(&maker, &list, &count);

	for (size_t i = 0; i < count && !err; i++)
		err = trace_give(&maker, &list[i], to);
	*given = count;
	free(list);
	maker_free(&maker);
	return err;
}
