/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_build.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace_spans.h"
#include "map/query.h"

/* Nodes [first, end) are one trace, or the tree of one thread. */
struct stretch {
	size_t first, end;
	u64 duration_ns;
};

static bool under_no_span(const struct node *n)
{
	static const u8 none[16];

	return memcmp(n->trace, none, sizeof(none)) == 0;
}

/* Spans of the kernel were chosen as the tree was built. */
static bool shown(const struct node *n, const struct trace_choice *c)
{
	return node_is_kernel(n) ||
	       ((!c->pid || n->pid == c->pid) && (!c->tid || n->tid == c->tid));
}

static bool chosen(const struct partial *p, const struct tree *tree, const struct stretch *s,
		   const struct trace_choice *c)
{
	const struct node *root = &tree->nodes.data[s->first];
	bool name = !c->name, service = !c->service, any = false;

	if (c->trace_id) {
		char id[33];

		for (int i = 0; i < 16; i++)
			snprintf(id + 2 * i, 3, "%02x", root->trace[i]);
		if (strcasecmp(id, c->trace_id) != 0)
			return false;
	}
	for (size_t i = s->first; i < s->end && !(name && service && any); i++) {
		const struct node *n = &tree->nodes.data[i];
		const char *of;

		any |= shown(n, c);
		if (!n->app)
			continue;
		if (!name && n->app->name && fnmatch(c->name, n->app->name, 0) == 0)
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

static int trace_write(struct making *m, const struct tree *tree, const struct stretch *s,
		       const struct trace_choice *choice, const struct trace_output *to)
{
	const struct node *root = &tree->nodes.data[s->first];
	struct trace_view view = {0};

	making_reset(m);
	for (size_t i = s->first; i < s->end; i++)
		if (shown(&tree->nodes.data[i], choice))
			making_add(m, &tree->nodes.data[i]);
	if (m->failed)
		return -ENOMEM;
	if (!under_no_span(root))
		for (int i = 0; i < 16; i++)
			snprintf(view.trace_id + 2 * i, 3, "%02x", root->trace[i]);
	view.spans = m->spans.data;
	view.spans_count = m->spans.count;
	return to->format->trace(to->writer, &view);
}

/* Cuts the nodes into traces, and what is under no span into threads. */
static int stretches(const struct tree *tree, struct stretch **out, size_t *count)
{
	VEC(struct stretch) list = {0};
	int err = 0;

	for (size_t i = 0; i < tree->nodes.count && !err;) {
		const struct node *root = &tree->nodes.data[i];
		struct stretch s = {.first = i};
		u64 begin = root->begin_ns, end = root->end_ns;

		for (i++; i < tree->nodes.count; i++) {
			const struct node *n = &tree->nodes.data[i];

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

/* Those that are chosen, in the order in which they are written. */
static int stretches_chosen(const struct partial *p, const struct tree *tree,
			    const struct trace_choice *choice, struct stretch **out,
			    size_t *chosen_count)
{
	struct stretch *list = NULL;
	size_t count = 0, kept = 0;
	int err = stretches(tree, &list, &count);

	for (size_t i = 0; i < count && !err; i++)
		if (chosen(p, tree, &list[i], choice))
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

int trace_choose(const struct partial *p, const struct tree *tree,
		 const struct trace_choice *choice, struct trace_ids *ids)
{
	struct stretch *list = NULL;
	size_t count = 0;
	int err = stretches_chosen(p, tree, choice, &list, &count);

	if (!err)
		err = vec_reserve(ids, count);
	for (size_t i = 0; i < count && !err; i++)
		memcpy(ids->data[ids->count++], tree->nodes.data[list[i].first].trace, 16);
	if (ids->count)
		qsort(ids->data, ids->count, 16, id_compare);
	free(list);
	return err;
}

int trace_build(const struct partial *p, const struct tree *tree, const struct trace_choice *choice,
		const struct trace_output *to, size_t *written)
{
	struct making m = {.p = p, .host = choice->host};
	struct stretch *list = NULL;
	size_t count = 0;
	int err = stretches_chosen(p, tree, choice, &list, &count);

	for (size_t i = 0; i < count && !err; i++)
		err = trace_write(&m, tree, &list[i], choice, to);
	*written = count;
	free(list);
	making_free(&m);
	return err;
}
