/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/trace_shown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/span_make.h"
#include "map/fact/query.h"

bool span_name_fits(const struct app_span *span, const char *pattern)
{
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)span_number(span->ctx.span));
	return filter_fits(pattern, span->name ? span->name : id);
}

/* ---- single spans ---- */

/* Whether a node is of a process and thread that the filter takes. */
static bool process_fits(struct filter_use *use, const struct partial *p, const struct node *n)
{
	const struct filter *f = use->filter;
	struct subject of = {.p = p, .kind = OF_LIFE, .tid = n->tid, .part = -1};

	if (!filter_of_process(f))
		return true;
	of.pid = n->pid ? n->pid : query_pid(p, n->tid, n->begin_ns);
	of.time_ns = of.at_ns = query_held_until(p, of.pid, n->begin_ns);
	/* spans of the kernel of one thread were chosen as they were kept, also under its old tid
	 */
	if (f->tid && !node_is_kernel(n) && n->tid != f->tid)
		return false;
	return filter_takes_process(use, &of);
}

static bool attribute_fits(const struct span *span, const char *key, const char *pattern)
{
	const struct attribute *a = span_attribute_find(span, key);

	return a && a->type == VALUE_STRING && filter_fits(pattern, a->string);
}

/* As rows by peer are named: "address:port", or "unix:" and a path. */
static bool peer_fits(const struct span *span, const char *pattern)
{
	const struct attribute *address = span_attribute_find(span, "network.peer.address");
	const struct attribute *port = span_attribute_find(span, "network.peer.port");
	char text[256];

	if (!address)
		return attribute_fits(span, "peer.fd.name", pattern);
	if (!port)
		snprintf(text, sizeof(text), "unix:%s", address->string);
	else
		snprintf(text, sizeof(text), strchr(address->string, ':') ? "[%s]:%u" : "%s:%u",
			 address->string, (unsigned int)port->integer);
	return filter_fits(pattern, text);
}

/* The call of a span: of a wait, the call that it tells in place of a span of the call. */
static const char *call_of(const struct span *span)
{
	const struct attribute *a;

	if (strcmp(span->kind, "wait") != 0)
		return span->name;
	a = span_attribute_find(span, "syscall");
	return a ? a->string : NULL;
}

/* Whether a span is on a file that the filter asks for: one of two, if it has two. */
static bool file_fits(const struct span *span, const char *pattern)
{
	static const char *const keys[] = {"file.path", "fd.name", "from.fd.name", "to.fd.name"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (attribute_fits(span, keys[i], pattern))
			return true;
	return false;
}

/* Whether a span is a call, or the fault of a file, that the filter asks for. *fits is unset if it
 * is not. */
static int call_fits(struct span_builder *builder, const struct filter *f, const struct node *n,
		     bool *fits)
{
	const struct span *span;
	const char *call;

	*fits = false;
	if (!node_is_kernel(n) || n->kind == NODE_BLOCK ||
	    (n->kind == NODE_FAULT && (f->syscall || !f->file)))
		return 0;
	span = span_make(builder, n, false);
	if (!span)
		return -ENOMEM;
	call = call_of(span);
	*fits = call && (!f->syscall || filter_fits_list(f->syscall, call)) &&
		(!f->file || file_fits(span, f->file)) && (!f->peer || peer_fits(span, f->peer));
	return 0;
}

/* ---- the spans of a trace ---- */

#define SHOWN 1
#define BELOW_TOO 2 /* and all below it */
#define NO_PARENT UINT32_MAX

struct marks {
	u8 *of;	       /* of each node */
	u32 *parent;   /* its place, or NO_PARENT */
	VEC(u32) line; /* the nodes above the one that is looked at */
	size_t count;
};

static int marks_begin(struct marks *m, const struct trace_nodes *nodes)
{
	m->count = nodes->end - nodes->first;
	m->of = calloc(m->count + 1, sizeof(*m->of));
	m->parent = calloc(m->count + 1, sizeof(*m->parent));
	return m->of && m->parent ? 0 : -ENOMEM;
}

static void marks_free(struct marks *m)
{
	free(m->of);
	free(m->parent);
	vec_free(&m->line);
}

/* Finds the parent of a node. Nodes stand depth first. */
static int parent_find(struct marks *m, const struct trace_nodes *nodes, u32 at)
{
	u64 parent = tree_node(nodes->tree, nodes->first + at)->parent;

	while (m->line.count) {
		u32 above = m->line.data[m->line.count - 1];

		if (parent && tree_node(nodes->tree, nodes->first + above)->id == parent)
			break;
		m->line.count--;
	}
	m->parent[at] = m->line.count ? m->line.data[m->line.count - 1] : NO_PARENT;
	return vec_push(&m->line, at);
}

/* A node is shown, and what is above it, as far as that is not shown yet. */
static void mark_above(struct marks *m, u32 at)
{
	for (at = m->parent[at]; at != NO_PARENT && !(m->of[at] & SHOWN); at = m->parent[at])
		m->of[at] |= SHOWN;
}

struct looking {
	struct span_builder *builder;
	const struct trace_choice *choice;
	struct filter_use *use;
	bool within; /* what is above a span that fits is shown, too */
};

static int node_mark(struct looking *look, struct marks *m, const struct node *n, u32 at)
{
	const struct partial *p = look->builder->p;
	bool calls = filter_of_call(&look->choice->filter);
	bool below = m->parent[at] != NO_PARENT && m->of[m->parent[at]] & BELOW_TOO;
	bool fits = process_fits(look->use, p, n) && (calls || partial_in_range(p, n->end_ns));
	int err = 0;

	if (n->kind == NODE_THREAD) /* it is in the range if something of it is */
		fits = fits && !partial_over_before(p, n->end_ns);
	if (fits && calls && !below)
		err = call_fits(look->builder, &look->choice->filter, n, &fits);
	if (err || !fits)
		return err;
	m->of[at] |= calls ? SHOWN | BELOW_TOO : SHOWN;
	if (look->within)
		mark_above(m, at);
	return 0;
}

/* Leaves out short spans that enclose no long one. The outer ones of these add up. */
static void short_leave_out(struct trace_shown *shown, struct marks *m,
			    const struct trace_nodes *nodes, u64 min_ns)
{
	for (size_t i = m->count; i-- > 0;) { /* children first */
		const struct node *n = tree_node(nodes->tree, nodes->first + i);

		if (n->end_ns - n->begin_ns >= min_ns)
			m->of[i] |= BELOW_TOO; /* it stays */
		else
			m->of[i] &= (u8)~BELOW_TOO;
	}
	for (size_t i = m->count; i-- > 0;)
		if (m->of[i] & SHOWN && m->of[i] & BELOW_TOO && m->parent[i] != NO_PARENT)
			m->of[m->parent[i]] |= BELOW_TOO;
	for (size_t i = 0; i < m->count; i++) {
		const struct node *n = tree_node(nodes->tree, nodes->first + i);
		u32 above = m->parent[i];

		if (!(m->of[i] & SHOWN) || m->of[i] & BELOW_TOO)
			continue;
		shown->left_out++;
		if (above == NO_PARENT || !(m->of[above] & SHOWN) || m->of[above] & BELOW_TOO)
			shown->left_out_ns += n->end_ns - n->begin_ns;
	}
	for (size_t i = 0; i < m->count; i++)
		if (!(m->of[i] & BELOW_TOO))
			m->of[i] = 0;
}

int trace_shown_find(struct trace_shown *shown, struct span_builder *builder,
		     const struct trace_choice *choice, const struct trace_nodes *nodes)
{
	const struct partial_options *range = &builder->p->options;
	struct looking look = {.builder = builder, .choice = choice};
	struct marks m = {0};
	int err = marks_begin(&m, nodes);

	shown->list.count = shown->left_out = 0;
	shown->left_out_ns = 0;
	look.within = filter_of_call(&choice->filter) || range->from_ns || range->to_ns;
	if (!shown->use)
		shown->use = calloc(1, sizeof(*shown->use));
	if (!shown->use)
		err = -ENOMEM;
	else
		shown->use->filter = &choice->filter;
	look.use = shown->use;
	for (u32 i = 0; i < m.count && !err; i++) {
		err = parent_find(&m, nodes, i);
		err = err ? err : node_mark(&look, &m, tree_node(nodes->tree, nodes->first + i), i);
	}
	if (!err && choice->min_ns)
		short_leave_out(shown, &m, nodes, choice->min_ns);
	for (u32 i = 0; i < m.count && !err; i++)
		if (m.of[i] & SHOWN)
			err = vec_push(&shown->list, i);
	marks_free(&m);
	return err;
}

void trace_shown_free(struct trace_shown *shown)
{
	vec_free(&shown->list);
	free(shown->use);
}
