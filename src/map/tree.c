/* SPDX-License-Identifier: Apache-2.0 */
#include "map/tree.h"
#include "map/enclosing.h"
#include "map/holders.h"
#include "map/internal.h"
#include "map/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number_table.h"

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
	int err;

	tree->times = calloc(p->spans.count + 1, sizeof(*tree->times));
	err = tree->times ? span_times(p, tree->times) : -ENOMEM;
	for (size_t i = 0; i < p->spans.count && !err; i++) {
		const struct app_span *s = p->spans.data[i];
		const struct span_time *t = &tree->times[i];
		struct span_place at = query_span_place(p, s, t->begin_ns);
		struct node n = {.id = span_number(s->ctx.span),
				 .of = (u32)i + 1,
				 .tid = at.tid,
				 .pid = at.pid,
				 .begin_ns = t->begin_ns,
				 .end_ns = t->end_ns,
				 .begin_soft = t->begin_soft,
				 .end_soft = t->end_soft};

		n.kind = s->begun || s->ended ? NODE_APP : NODE_CONTEXT;
		n.parent = span_number((const u8 *)&s->parent);
		memcpy(n.trace, s->ctx.trace, sizeof(n.trace));
		err = vec_push(&tree->nodes, n);
	}
	return err;
}

/* ---- what ran where ---- */

struct making_kernel {
	const struct partial *p;
	const struct tree_options *o;
	struct holders holders;
	u64 *ids;	  /* of the node of each life; owned */
	struct map open;  /* tid -> struct enclosing, owned */
	struct map above; /* node_key() of a span or thread -> its number in the tree + 1 */
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

/* ---- by id: one of a span is unique in its trace only ---- */

static u64 node_key(const u8 trace[16], u64 id)
{
	u64 half[2];

	memcpy(half, trace, sizeof(half));
	return hash_pair(hash_pair(half[0], half[1]), id);
}

/* ---- what nothing else tells of ---- */

static int above_put(struct map *numbers, const struct node *n, size_t index)
{
	return map_put(numbers, node_key(n->trace, n->id), (void *)(index + 1));
}

static int stand_in_add(struct tree *tree, struct map *numbers, const struct node *child, u64 id)
{
	static const u8 none[16];
	bool thread = memcmp(child->trace, none, sizeof(none)) == 0;
	struct node n = {.kind = thread ? NODE_THREAD : NODE_CONTEXT,
			 .id = id,
			 .tid = child->tid,
			 .pid = child->pid,
			 .begin_ns = child->begin_ns,
			 .end_ns = child->end_ns,
			 .begin_soft = true,
			 .end_soft = true};
	int err;

	memcpy(n.trace, child->trace, sizeof(n.trace));
	err = above_put(numbers, &n, tree->nodes.count);
	return err ? err : vec_push(&tree->nodes, n);
}

static void stand_in_widen(struct node *n, const struct node *child)
{
	if (child->begin_ns < n->begin_ns)
		n->begin_ns = child->begin_ns;
	if (child->end_ns > n->end_ns)
		n->end_ns = child->end_ns;
}

/*
 * A request can be told when nothing else is of its thread, or of the span that it was made under:
 * something stands for that, with the id `above` (0: there is none). Its time is not known.
 */
static int stand_in(struct tree *tree, struct map *numbers, const struct node *child, u64 above)
{
	size_t up = above ? (size_t)map_get(numbers, node_key(child->trace, above)) : 0;
	struct node *n = up ? &tree->nodes.data[up - 1] : NULL;

	if (above && (!n || n->id != above || memcmp(n->trace, child->trace, 16) != 0))
		return stand_in_add(tree, numbers, child, above);
	if (n && !n->of)
		stand_in_widen(n, child);
	return 0;
}

/* Events can name a thread of which nothing else tells: it had ended before, or came to no record.
 */
static int stand_ins_of_events(struct making_kernel *m, struct tree *tree)
{
	const struct partial *p = m->p;
	int err = 0;

	for (size_t i = 0; i < p->events.list.count && !err; i++) {
		const struct kevent *k = &p->events.list.data[i];
		u64 above = kernel_id(m->o, k->tid, 0, NODE_THREAD);
		struct node child = {
			.tid = k->tid, .pid = k->pid, .begin_ns = k->time_ns, .end_ns = k->time_ns};

		if (context_is_none(&k->ctx) && !k->life && k->tid && wanted(m->o, k->tid, k->pid))
			err = stand_in(tree, &m->above, &child, above);
	}
	return err;
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
	u64 above = kernel_above(m, k, &ctx, owner);
	bool left_out = (!wanted(o, k->tid, k->pid) && !wanted(o, tid, k->pid)) ||
			(context_is_none(&ctx) && !o->threads);
	struct node n = {.kind = kinds[k->kind],
			 .parent = above,
			 .of = (u32)index + 1,
			 .tid = k->tid,
			 .pid = k->pid,
			 .begin_ns = k->begin_ns,
			 .end_ns = k->end_ns};
	int err;

	if (!in)
		return -ENOMEM;
	if (visit && !visit->left_out)
		n.parent = kernel_id(o, tid, visit->begin_ns, visit_node(visit));
	enclosing_follow(in, k, &ctx, left_out); /* `visit` ends here */
	if (left_out)
		return 0;
	n.id = node_id(o, k, tid, n.kind);
	node_bounds(m->p, k, &n);
	memcpy(n.trace, ctx.trace, sizeof(n.trace));
	err = stand_in(tree, &m->above, &n, above);
	return err ? err : vec_push(&tree->nodes, n);
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
				 .of = (u32)h->life + 1,
				 .tid = l->tid,
				 .pid = l->pid,
				 .begin_ns = l->origin_ns,
				 .end_ns = l->state.last_ns,
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

/* Room for so many more and a few that stand in: an array that grows has twice what it needs. */
static int nodes_reserve(struct tree *tree, size_t more)
{
	size_t capacity = tree->nodes.count + more + more / 64 + 64;
	struct node *bigger = reallocarray(tree->nodes.data, capacity, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	tree->nodes.data = bigger;
	tree->nodes.capacity = capacity;
	return 0;
}

/* What is above spans of the kernel stands in the tree before them. */
static int above_fill(struct making_kernel *m, struct tree *tree)
{
	int err = m->o->threads ? thread_nodes(m, tree) : 0;

	for (size_t i = 0; i < tree->nodes.count && !err; i++)
		err = above_put(&m->above, &tree->nodes.data[i], i);
	return err;
}

static void making_kernel_free(struct making_kernel *m)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&m->open, &at, &entry))
		free(entry.value);
	map_free(&m->open);
	map_free(&m->above);
	holders_free(&m->holders);
	free(m->ids);
}

static int kernel_nodes(const struct partial *p, const struct tree_options *o, struct tree *tree)
{
	struct making_kernel m = {.p = p, .o = o};
	int err = holders_fill(&m.holders, p);

	err = err ? err : thread_ids(&m);
	err = err ? err : above_fill(&m, tree);
	err = err ? err : nodes_reserve(tree, kspans_count(&p->kspans));
	for (size_t i = 0; i < kspans_count(&p->kspans) && !err; i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		err = kernel_node(&m, i, &k, tree);
	}
	if (!err && o->threads)
		err = stand_ins_of_events(&m, tree);
	making_kernel_free(&m);
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
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(y->end_ns, x->end_ns);
	COMPARE(x->kind, y->kind);
	COMPARE(x->tid, y->tid);
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Numbers of nodes + 1; 0: none. */
struct ordering {
	u32 *first_child, *next, *up;
	u32 *order;   /* numbers of nodes: as far as it is made */
	size_t count; /* of order */
};

/* Iterative, since a thread can nest as deep as its input says. */
static void emit_from(struct ordering *o, u32 root)
{
	for (u32 at = root;;) {
		o->order[o->count++] = at;
		if (o->first_child[at]) {
			at = o->first_child[at] - 1;
			continue;
		}
		while (at != root && !o->next[at])
			at = o->up[at] - 1;
		if (at == root)
			return;
		at = o->next[at] - 1;
	}
}

/* No child of its parent any more. */
static void circle_open(struct ordering *o, u32 root)
{
	u32 *link = &o->first_child[o->up[root - 1] - 1];

	while (*link != root)
		link = &o->next[*link - 1];
	*link = o->next[root - 1];
	o->next[root - 1] = o->up[root - 1] = 0;
}

/*
 * Parents that form a circle, as no program means it, have no root: the first of them in the order
 * of nodes is it. Each node is walked over once: `walk` says in which one it was first seen.
 */
static void circles_open(struct ordering *o, u32 *walk, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		u32 at = i + 1, first;

		for (; at && !walk[at - 1]; at = o->up[at - 1])
			walk[at - 1] = i + 1;
		if (!at || walk[at - 1] != i + 1)
			continue; /* at a root, or where another walk was */
		first = at;
		for (u32 on = o->up[at - 1]; on != at; on = o->up[on - 1])
			first = on < first ? on : first;
		circle_open(o, first);
	}
}

/* Where the number of the node of that id in that trace stands, or belongs. */
static u32 *number_place(const struct number_table *numbers, const struct tree *tree,
			 const u8 trace[16], u64 id)
{
	u32 *place = number_table_home(numbers, node_key(trace, id));

	for (; *place; place = number_table_next(numbers, place)) {
		const struct node *n = &tree->nodes.data[*place - 1];

		if (n->id == id && memcmp(n->trace, trace, 16) == 0)
			break;
	}
	return place;
}

static int link_children(struct tree *tree, struct ordering *o)
{
	struct number_table numbers;
	u32 n = (u32)tree->nodes.count;
	int err = number_table_init(&numbers, n);

	for (u32 i = 0; i < n && !err; i++) {
		const struct node *node = &tree->nodes.data[i];
		u32 *place = number_place(&numbers, tree, node->trace, node->id);

		*place = *place ? *place : i + 1;
	}
	for (u32 i = n; i-- > 0 && !err;) {
		struct node *node = &tree->nodes.data[i];
		u32 up = node->parent ? *number_place(&numbers, tree, node->trace, node->parent)
				      : 0;

		if (!up || up == i + 1) {
			/* its parent is elsewhere, or was lost: it stands on its own */
			if (node->kind != NODE_APP)
				node->parent = 0;
			continue;
		}
		o->next[i] = o->first_child[up - 1];
		o->first_child[up - 1] = i + 1;
		o->up[i] = up;
	}
	number_table_free(&numbers);
	return err;
}

static int order_make(struct tree *tree, struct ordering *o)
{
	u32 n = (u32)tree->nodes.count;
	int err;

	o->first_child = calloc(n, sizeof(u32));
	o->next = calloc(n, sizeof(u32));
	o->up = calloc(n, sizeof(u32));
	err = o->first_child && o->next && o->up ? link_children(tree, o) : -ENOMEM;
	if (err)
		return err;
	tree->order = o->order = calloc(n, sizeof(u32));
	if (!o->order)
		return -ENOMEM;
	circles_open(o, o->order, n); /* before there is any order */
	for (u32 i = 0; i < n; i++)
		if (!o->up[i])
			emit_from(o, i);
	return 0;
}

static int tree_order(struct tree *tree)
{
	struct ordering o = {0};
	int err;

	if (tree->nodes.count == 0)
		return 0;
	qsort(tree->nodes.data, tree->nodes.count, sizeof(*tree->nodes.data), node_compare);
	err = order_make(tree, &o);
	free(o.first_child);
	free(o.next);
	free(o.up);
	return err;
}

/* At most one stands in for each that is told. */
static bool numbers_suffice(const struct partial *p)
{
	return kspans_count(&p->kspans) + p->spans.count + p->lives.count + p->events.list.count <
	       UINT32_MAX / 2;
}

int tree_build(const struct partial *p, const struct tree_options *options, struct tree *tree)
{
	int err;

	*tree = (struct tree){0};
	if (!numbers_suffice(p))
		return -EOVERFLOW;
	err = app_nodes(p, tree);
	if (!err)
		err = kernel_nodes(p, options, tree);
	if (!err)
		err = tree_order(tree);
	if (err)
		tree_free(tree);
	return err;
}

void tree_free(struct tree *tree)
{
	vec_free(&tree->nodes);
	free(tree->order);
	free(tree->times);
	*tree = (struct tree){0};
}

/* ---- what is not kept in the node ---- */

struct split node_split(const struct partial *p, const struct tree *tree, const struct node *n)
{
	struct kspan k;

	if (!n->of)
		return (struct split){0};
	if (n->kind == NODE_THREAD)
		return p->lives.data[n->of - 1]->total;
	if (!node_is_kernel(n))
		return tree->times[n->of - 1].split;
	kspans_get(&p->kspans, n->of - 1, &k);
	return k.split;
}

u32 node_threads(const struct tree *tree, const struct node *n)
{
	if (!n->of || n->kind == NODE_URING || n->kind == NODE_BLOCK)
		return 0;
	return node_is_kernel(n) || n->kind == NODE_THREAD ? 1 : tree->times[n->of - 1].threads;
}
