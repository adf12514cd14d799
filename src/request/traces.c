/* SPDX-License-Identifier: Apache-2.0 */
#include "request/traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "request/nodes.h"
#include "request/shifts.h"

/* The children of each node, and where a walk is. */
struct walking {
	struct requests *r;
	u32 *firsts;   /* of each node: its first child in `children`; one more at the end */
	u32 *children; /* by parent, then begin */
	u8 *seen;      /* it is in a trace */
	u8 *serves;    /* of each process: it is the server of an exchange */
	VEC(u32) stack;
};

static u64 node_begin(const struct requests *r, u32 node)
{
	struct request_span s = node_span(r, node);

	if (s.kind == REQUEST_APP)
		return request_app_node(&r->apps, s.of)->begin_ns;
	return s.kind == REQUEST_SERVER ? r->exchanges.data[s.of].server.first_ns
					: r->exchanges.data[s.of].caller.first_ns;
}

static int child_compare(const void *a, const void *b, void *arg)
{
	const u32 *x = a, *y = b;
	const struct requests *r = arg;

	COMPARE(node_begin(r, *x), node_begin(r, *y));
	COMPARE(*x, *y);
	return 0;
}

static void children_sort(const struct walking *w, u32 first, u32 end)
{
	for (u32 i = first + 1; i < end; i++) {
		if (child_compare(&w->children[i - 1], &w->children[i], w->r) > 0) {
			qsort_r(w->children + first, end - first, sizeof(u32), child_compare, w->r);
			return;
		}
	}
}

static bool has_parent(const struct requests *r, u32 node)
{
	return node_is_there(r, node) && r->node_parents[node] != NO_NODE;
}

static int walking_begin(struct walking *w)
{
	size_t count = nodes_count(w->r);

	w->firsts = calloc(count + 2, sizeof(u32));
	w->children = calloc(count + 1, sizeof(u32));
	w->seen = calloc(count + 1, 1);
	w->serves = calloc(w->r->processes.list.count + 1, 1);
	if (!w->firsts || !w->children || !w->seen || !w->serves)
		return -ENOMEM;
	for (size_t i = 0; i < w->r->exchanges.count; i++)
		w->serves[w->r->exchanges.data[i].server.process] = 1;
	return 0;
}

static void children_find(struct walking *w)
{
	const struct requests *r = w->r;
	u32 count = (u32)nodes_count(r), sum = 0;

	for (u32 i = 0; i < count; i++)
		if (has_parent(r, i))
			w->firsts[r->node_parents[i] + 1]++;
	for (u32 i = 0; i <= count; i++) {
		sum += w->firsts[i];
		w->firsts[i] = sum;
	}
	for (u32 i = 0; i < count; i++) /* the place is that of the next child, for a while */
		if (has_parent(r, i))
			w->children[w->firsts[r->node_parents[i]]++] = i;
	for (u32 i = count; i > 0; i--)
		w->firsts[i] = w->firsts[i - 1];
	w->firsts[0] = 0;
	for (u32 i = 0; i < count; i++)
		children_sort(w, w->firsts[i], w->firsts[i + 1]);
}

static u32 flags_of(const struct walking *w, u32 root)
{
	const struct request_span s = node_span(w->r, root);
	const struct exchange *x;
	u32 flags;

	if (s.kind == REQUEST_APP)
		return 0;
	x = &w->r->exchanges.data[s.of];
	flags = x->flags & EXCHANGE_STREAM ? TRACE_OF_STREAM : 0;
	if (!x->caller.process || !w->serves[x->caller.process])
		return flags;
	return flags | (w->r->edges[s.of].candidates ? TRACE_UNSURE : TRACE_INSIDE);
}

static int node_put(struct walking *w, struct request_trace *t, u32 node)
{
	struct request_span s = node_span(w->r, node);
	struct request_bounds bounds = request_bounds_of(w->r, &s);
	u64 shift_ns;
	int err;

	shift_fill(w->r, node);
	shift_ns = (u64)request_shift(w->r, &s);
	bounds.begin_ns += shift_ns;
	bounds.end_ns += shift_ns;
	if (t->first == w->r->spans.count || bounds.begin_ns < t->begin_ns)
		t->begin_ns = bounds.begin_ns;
	if (bounds.end_ns > t->end_ns)
		t->end_ns = bounds.end_ns;
	if (s.kind != REQUEST_APP && t->exchange == NO_NODE)
		t->exchange = s.of;
	err = vec_push(&w->r->spans, s);
	/* the last child is to be taken from the stack last */
	for (u32 i = w->firsts[node + 1]; i > w->firsts[node] && !err; i--)
		if (!w->seen[w->children[i - 1]])
			err = vec_push(&w->stack, w->children[i - 1]);
	return err;
}

static int trace_walk(struct walking *w, u32 root)
{
	struct requests *r = w->r;
	struct request_trace t = {
		.exchange = NO_NODE, .flags = flags_of(w, root), .first = r->spans.count};
	int err = vec_push(&w->stack, root);

	while (w->stack.count && !err) {
		u32 node = w->stack.data[--w->stack.count];

		if (w->seen[node])
			continue;
		w->seen[node] = 1;
		if (r->spans.count - t.first >= TRACE_SPANS_MOST)
			t.flags |= TRACE_CUT;
		else
			err = node_put(w, &t, node);
	}
	if (t.exchange == NO_NODE) /* nothing but spans of applications: no request */
		r->spans.count = t.first;
	t.end = r->spans.count;
	if (err || t.end == t.first)
		return err;
	request_trace_id(r, &r->spans.data[t.first], t.id);
	return vec_push(&r->traces, t);
}

static int trace_compare(const void *a, const void *b)
{
	const struct request_trace *x = a, *y = b;
	int ids;

	COMPARE(x->begin_ns, y->begin_ns);
	ids = memcmp(x->id, y->id, sizeof(x->id));
	return ids ? ids : x->exchange < y->exchange ? -1 : x->exchange > y->exchange;
}

/* Traces of roots; what is left then are parents of each other in a circle. */
static int traces_walk(struct walking *w)
{
	u32 count = (u32)nodes_count(w->r);
	int err = 0;

	for (u32 i = 0; i < count && !err; i++)
		if (node_is_there(w->r, i) && !has_parent(w->r, i))
			err = trace_walk(w, i);
	for (u32 i = 0; i < count && !err; i++)
		if (node_is_there(w->r, i) && !w->seen[i])
			err = trace_walk(w, i);
	return err;
}

int request_traces_make(struct requests *r)
{
	struct walking w = {.r = r};
	int err = nodes_join(r);

	err = err ? err : walking_begin(&w);
	if (!err) {
		children_find(&w);
		err = traces_walk(&w);
	}
	if (!err && r->traces.count)
		qsort(r->traces.data, r->traces.count, sizeof(*r->traces.data), trace_compare);
	free(w.firsts);
	free(w.children);
	free(w.seen);
	free(w.serves);
	vec_free(&w.stack);
	return err;
}
