/* SPDX-License-Identifier: Apache-2.0 */
#include "map/tree.h"
#include "map/enclosing.h"
#include "map/holders.h"
#include "map/internal.h"
#include "map/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static u64 kernel_id(const struct tree_options *o, u32 tid, u64 begin_ns, enum node_kind kind)
{
	u64 id = hash_pair(hash_pair(o->boot, begin_ns), (u64)tid << 8 | kind);

	return id ? id : 1;
}

static bool wanted(const struct tree_options *o, u32 tid, u32 pid)
{
	return (!o->pid || o->pid == pid) && (!o->tid || o->tid == tid);
}

static int app_nodes(const struct partial *p, struct tree *tree)
{
	struct span_time *times = calloc(p->spans.count + 1, sizeof(*times));
	int err = times ? span_times(p, times) : -ENOMEM;

	for (size_t i = 0; i < p->spans.count && !err; i++) {
		const struct app_span *s = p->spans.data[i];
		const struct span_time *t = &times[i];
		struct span_place at = query_span_place(p, s, t->begin_ns);
		struct node n = {.id = span_number(s->ctx.span),
				 .app = s,
				 .tid = at.tid,
				 .pid = at.pid,
				 .begin_ns = t->begin_ns,
				 .end_ns = t->end_ns,
				 .begin_soft = t->begin_soft,
				 .end_soft = t->end_soft,
				 .threads = t->threads,
				 .split = t->split};

		n.kind = s->begun || s->ended ? NODE_APP : NODE_CONTEXT;
		n.parent = span_number((const u8 *)&s->parent);
		memcpy(n.trace, s->ctx.trace, sizeof(n.trace));
		err = vec_push(&tree->nodes, n);
	}
	free(times);
	return err;
}

/* ---- what ran where ---- */

struct making_kernel {
	const struct partial *p;
	const struct tree_options *o;
	struct holders holders;
	u64 *ids;	 /* of the node of each life; owned */
	struct map open; /* tid -> struct enclosing, owned */
};

/* The span or thread under which it ran. */
static u64 kernel_above(const struct making_kernel *m, const struct kspan *k,
			const struct context *ctx, const struct holder *owner)
{
	if (!context_is_none(ctx))
		return span_number(ctx->span);
	return owner ? m->ids[owner->life] : kernel_id(m->o, k->tid, 0, NODE_THREAD);
}

static enum node_kind visit_node(const struct visit *visit)
{
	return visit->fault ? NODE_FAULT : NODE_SYSCALL;
}

/* Whether a time is one at which the recording begins, ends or was interrupted. */
static bool is_edge(const struct partial *p, u64 time_ns)
{
	if (time_ns == p->from_ns || time_ns == p->to_ns)
		return true;
	for (size_t i = 0; i < p->gaps.count; i++)
		if (time_ns == p->gaps.data[i].begin_ns || time_ns == p->gaps.data[i].head.time_ns)
			return true;
	return false;
}

/* What the thread is in, made if it is new; NULL if there is no memory. */
static struct enclosing *enclosing_get(struct making_kernel *m, u32 tid)
{
	struct enclosing *in = map_get(&m->open, tid);

	if (in)
		return in;
	in = calloc(1, sizeof(*in));
	if (in && map_put(&m->open, tid, in)) {
		free(in);
		return NULL;
	}
	return in;
}

static void node_bounds(const struct partial *p, const struct kspan *k, struct node *n)
{
	n->begin_soft = k->kind == KSPAN_WAIT && is_edge(p, k->begin_ns);
	if (k->kind == KSPAN_SYSCALL)
		n->begin_soft = k->mode & SYSCALL_BEGIN_SOFT;
	n->end_soft = k->open || (k->kind == KSPAN_WAIT && is_edge(p, k->end_ns));
	if (k->kind == KSPAN_FAULT)
		n->end_soft |= k->args[2] & FAULT_SOFT_END;
	if (k->kind == KSPAN_URING) {
		n->begin_soft = k->mode & URING_BEGIN_UNKNOWN;
		n->end_soft = k->mode & URING_END_UNKNOWN;
	}
}

/* Parts of one bio were submitted at once: where they lie on the disk tells them apart. */
static u64 node_id(const struct tree_options *o, const struct kspan *k, u32 tid,
		   enum node_kind kind)
{
	u64 id = kernel_id(o, tid, k->begin_ns, kind);

	if (kind == NODE_BLOCK)
		id = hash_pair(id, k->args[BLOCK_ARG_SECTOR]);
	return id ? id : 1;
}

static int kernel_node(struct making_kernel *m, size_t index, const struct kspan *k,
		       struct tree *tree)
{
	static const enum node_kind kinds[] = {[KSPAN_SYSCALL] = NODE_SYSCALL,
					       [KSPAN_FAULT] = NODE_FAULT,
					       [KSPAN_WAIT] = NODE_WAIT,
					       [KSPAN_URING] = NODE_URING,
					       [KSPAN_BLOCK] = NODE_BLOCK};
	/* a request is its submitter's, who can be gone when it completes */
	bool request = k->kind == KSPAN_URING || k->kind == KSPAN_BLOCK;
	u64 known_ns = request ? k->begin_ns : k->end_ns;
	const struct holder *owner = holders_find(&m->holders, k->tid, known_ns);
	const struct tree_options *o = m->o;
	/* at its end: for all that it had, in ids */
	u32 tid = owner ? m->p->lives.data[owner->life]->tid : k->tid;
	struct enclosing *in = enclosing_get(m, tid);
	const struct visit *visit = in ? enclosing_of(in, k) : NULL;
	struct context ctx = visit ? visit->ctx : k->ctx; /* it stands where that does */
	struct node n = {.kind = kinds[k->kind],
			 .kernel = index,
			 .tid = k->tid,
			 .pid = k->pid,
			 .begin_ns = k->begin_ns,
			 .end_ns = k->end_ns,
			 .threads = !request,
			 .split = k->split};

	if (!in)
		return -ENOMEM;
	n.above = kernel_above(m, k, &ctx, owner);
	n.parent = visit ? kernel_id(o, tid, visit->begin_ns, visit_node(visit)) : n.above;
	enclosing_follow(in, k, &ctx); /* `visit` ends here */
	if ((!wanted(o, k->tid, k->pid) && !wanted(o, tid, k->pid)) ||
	    (context_is_none(&ctx) && !o->threads))
		return 0;
	n.id = node_id(o, k, tid, n.kind);
	node_bounds(m->p, k, &n);
	memcpy(n.trace, ctx.trace, sizeof(n.trace));
	return vec_push(&tree->nodes, n);
}

/* Of a thread the time inside the range of the answer is accounted. */
static void thread_clip(const struct partial_options *o, struct node *n)
{
	if (n->begin_ns < o->from_ns) {
		n->begin_ns = o->from_ns < n->end_ns ? o->from_ns : n->end_ns;
		n->begin_soft = true;
	}
	if (o->to_ns && n->end_ns > o->to_ns) {
		n->end_ns = o->to_ns > n->begin_ns ? o->to_ns : n->begin_ns;
		n->end_soft = true;
	}
}

static int thread_nodes(const struct making_kernel *m, struct tree *tree)
{
	int err = 0;

	for (size_t i = 0; i < m->holders.list.count && !err; i++) {
		const struct holder *h = &m->holders.list.data[i];
		const struct life *l = m->p->lives.data[h->life];
		struct node n = {.kind = NODE_THREAD,
				 .id = m->ids[h->life],
				 .life = l,
				 .life_number = h->life + 1,
				 .tid = l->tid,
				 .pid = l->pid,
				 .begin_ns = l->origin_ns,
				 .end_ns = l->state.last_ns,
				 .threads = 1,
				 .split = l->total,
				 .begin_soft = !l->born,
				 .end_soft = l->state.place != LIFE_GONE};

		thread_clip(&m->p->options, &n);
		if (h->number == l->tid && wanted(m->o, l->tid, l->pid))
			err = vec_push(&tree->nodes, n);
	}
	return err;
}

static int thread_ids(struct making_kernel *m)
{
	const struct partial *p = m->p;

	m->ids = calloc(p->lives.count + 1, sizeof(*m->ids));
	for (size_t i = 0; m->ids && i < p->lives.count; i++) {
		const struct life *l = p->lives.data[i];
		bool had_before = i && p->lives.data[i - 1]->tid == l->tid;
		bool alone = l->tid == l->left_tid && !had_before;

		m->ids[i] = kernel_id(m->o, l->tid, alone ? 0 : l->origin_ns, NODE_THREAD);
	}
	return m->ids ? 0 : -ENOMEM;
}

static int kernel_nodes(const struct partial *p, const struct tree_options *o, struct tree *tree)
{
	struct making_kernel m = {.p = p, .o = o};
	struct map_entry entry;
	int err = holders_fill(&m.holders, p);
	size_t at = 0;

	err = err ? err : thread_ids(&m);

	for (size_t i = 0; i < kspans_count(&p->kspans) && !err; i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		err = kernel_node(&m, i, &k, tree);
	}
	if (!err && o->threads)
		err = thread_nodes(&m, tree);
	while (map_next(&m.open, &at, &entry))
		free(entry.value);
	map_free(&m.open);
	holders_free(&m.holders);
	free(m.ids);
	return err;
}

/* ---- by id: one of a span is unique in its trace only ---- */

static u64 node_key(const u8 trace[16], u64 id)
{
	u64 half[2];

	memcpy(half, trace, sizeof(half));
	return hash_pair(hash_pair(half[0], half[1]), id);
}

static int node_number(struct map *number, const struct node *n, size_t index)
{
	return map_put(number, node_key(n->trace, n->id), (void *)(index + 1));
}

/* The number of the node of that id in the trace of `child`, + 1; 0: there is none. */
static size_t node_above(const struct tree *tree, const struct map *number,
			 const struct node *child, u64 id)
{
	size_t up = id ? (size_t)map_get(number, node_key(child->trace, id)) : 0;
	const struct node *n = up ? &tree->nodes.data[up - 1] : NULL;

	return n && n->id == id && memcmp(n->trace, child->trace, 16) == 0 ? up : 0;
}

/* ---- what nothing else tells of ---- */

static int stand_in_add(struct tree *tree, struct map *number, const struct node *child)
{
	static const u8 none[16];
	bool thread = memcmp(child->trace, none, sizeof(none)) == 0;
	struct node n = {.kind = thread ? NODE_THREAD : NODE_CONTEXT,
			 .id = child->above,
			 .tid = child->tid,
			 .pid = child->pid,
			 .begin_ns = child->begin_ns,
			 .end_ns = child->end_ns,
			 .begin_soft = true,
			 .end_soft = true};
	int err;

	memcpy(n.trace, child->trace, sizeof(n.trace));
	err = node_number(number, &n, tree->nodes.count);
	return err ? err : vec_push(&tree->nodes, n);
}

static void stand_in_widen(struct node *n, const struct node *child)
{
	if (child->begin_ns < n->begin_ns)
		n->begin_ns = child->begin_ns;
	if (child->end_ns > n->end_ns)
		n->end_ns = child->end_ns;
}

/* The first `count` nodes stand for themselves. */
static int stand_in(struct tree *tree, size_t count, struct map *number, const struct node *child)
{
	size_t up = node_above(tree, number, child, child->above);

	if (child->above && !up)
		return stand_in_add(tree, number, child);
	if (up > count)
		stand_in_widen(&tree->nodes.data[up - 1], child);
	return 0;
}

/* Events can name a thread of which nothing else tells: it had ended before, or came to no record.
 */
static int stand_ins_of_events(const struct partial *p, const struct tree_options *o,
			       struct tree *tree, size_t count, struct map *number)
{
	int err = 0;

	for (size_t i = 0; i < p->events.list.count && !err; i++) {
		const struct kevent *k = &p->events.list.data[i];
		struct node child = {.above = kernel_id(o, k->tid, 0, NODE_THREAD),
				     .tid = k->tid,
				     .pid = k->pid,
				     .begin_ns = k->time_ns,
				     .end_ns = k->time_ns};

		if (context_is_none(&k->ctx) && !k->life && k->tid && wanted(o, k->tid, k->pid))
			err = stand_in(tree, count, number, &child);
	}
	return err;
}

/*
 * A request can be told when nothing else is of its thread, or of the span that it was made under:
 * something stands for that. Its time is not known.
 */
static int stand_ins(const struct partial *p, const struct tree_options *o, struct tree *tree)
{
	size_t count = tree->nodes.count;
	struct map number = {0};
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = node_number(&number, &tree->nodes.data[i], i);
	for (size_t i = 0; i < count && !err; i++) {
		struct node child = tree->nodes.data[i];

		err = stand_in(tree, count, &number, &child);
	}
	if (!err && o->threads)
		err = stand_ins_of_events(p, o, tree, count, &number);
	map_free(&number);
	return err;
}

/* ---- order: depth first ---- */

static bool no_trace(const struct node *n)
{
	static const u8 none[16];

	return memcmp(n->trace, none, sizeof(none)) == 0;
}

static int node_compare(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int traces = memcmp(x->trace, y->trace, sizeof(x->trace));

	if (no_trace(x) != no_trace(y))
		return no_trace(x) ? 1 : -1;
	if (traces)
		return traces;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

struct ordering {
	const struct node *nodes;
	size_t *first_child, *last_child, *next, *up; /* number + 1; 0: none */
	size_t *walk;				      /* in which one it was first seen; 0: none */
	size_t *stack;
	struct node *out;
	size_t count;
};

/*
 * Iterative, since a thread can nest as deep as its input says. The root of a circle is met a
 * second time, as a child of its last: its siblings follow, and it is not told again.
 */
static void emit_from(struct ordering *o, size_t root)
{
	size_t depth = 0, begin = o->count;

	o->stack[depth++] = root + 1;
	while (depth) {
		size_t at = o->stack[--depth] - 1;
		bool again = at == root && o->count > begin;

		if (o->next[at] && (at != root || again))
			o->stack[depth++] = o->next[at];
		if (again)
			continue;
		o->out[o->count++] = o->nodes[at];
		if (o->first_child[at])
			o->stack[depth++] = o->first_child[at];
	}
}

/*
 * Parents that form a circle, as no program means it, have no root: the first of them in the order
 * of nodes is it. Each node is walked over once.
 */
static void circles_open(struct ordering *o, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = i + 1, first;

		for (; at && !o->walk[at - 1]; at = o->up[at - 1])
			o->walk[at - 1] = i + 1;
		if (!at || o->walk[at - 1] != i + 1)
			continue; /* at a root, or where another walk was */
		first = at;
		for (size_t on = o->up[at - 1]; on != at; on = o->up[on - 1])
			first = on < first ? on : first;
		o->up[first - 1] = 0;
	}
}

static int link_children(struct tree *tree, struct ordering *o)
{
	struct map number = {0};
	size_t n = tree->nodes.count;
	int err = 0;

	for (size_t i = n; i-- > 0 && !err;)
		err = node_number(&number, &tree->nodes.data[i], i);
	for (size_t i = 0; i < n && !err; i++) {
		struct node *node = &tree->nodes.data[i];
		size_t up = node_above(tree, &number, node, node->parent);

		if (!up && (up = node_above(tree, &number, node, node->above)))
			node->parent = node->above; /* a call that does not return is no span */
		if (!up || up == i + 1) {
			/* its parent is elsewhere, or was lost: it stands on its own */
			if (node->kind != NODE_APP)
				node->parent = 0;
			continue;
		}
		if (o->last_child[up - 1])
			o->next[o->last_child[up - 1] - 1] = i + 1;
		else
			o->first_child[up - 1] = i + 1;
		o->last_child[up - 1] = i + 1;
		o->up[i] = up;
	}
	map_free(&number);
	return err;
}

static void ordering_free(struct ordering *o)
{
	free(o->first_child);
	free(o->last_child);
	free(o->next);
	free(o->up);
	free(o->walk);
	free(o->stack);
}

static int ordering_alloc(struct ordering *o, size_t count)
{
	o->first_child = calloc(count, sizeof(size_t));
	o->last_child = calloc(count, sizeof(size_t));
	o->next = calloc(count, sizeof(size_t));
	o->up = calloc(count, sizeof(size_t));
	o->walk = calloc(count, sizeof(size_t));
	o->stack = calloc(count + 1, sizeof(size_t));
	o->out = malloc(count * sizeof(*o->out));
	return o->first_child && o->last_child && o->next && o->up && o->walk && o->stack && o->out
		       ? 0
		       : -ENOMEM;
}

static int tree_order(struct tree *tree)
{
	size_t n = tree->nodes.count;
	struct ordering o = {.nodes = tree->nodes.data};
	int err;

	if (n == 0)
		return 0;
	qsort(tree->nodes.data, n, sizeof(*tree->nodes.data), node_compare);
	err = ordering_alloc(&o, n);
	if (!err)
		err = link_children(tree, &o);
	if (!err) {
		circles_open(&o, n);
		for (size_t i = 0; i < n; i++)
			if (!o.up[i])
				emit_from(&o, i);
	}
	ordering_free(&o);
	if (err) {
		free(o.out);
		return err;
	}
	free(tree->nodes.data);
	tree->nodes.data = o.out;
	tree->nodes.count = o.count;
	tree->nodes.capacity = n;
	return 0;
}

int tree_build(const struct partial *p, const struct tree_options *options, struct tree *tree)
{
	int err;

	*tree = (struct tree){0};
	err = app_nodes(p, tree);
	if (!err)
		err = kernel_nodes(p, options, tree);
	if (!err)
		err = stand_ins(p, options, tree);
	if (!err)
		err = tree_order(tree);
	if (err)
		tree_free(tree);
	return err;
}

void tree_free(struct tree *tree)
{
	vec_free(&tree->nodes);
}
