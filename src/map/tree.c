/* SPDX-License-Identifier: Apache-2.0 */
#include "map/tree.h"

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
		struct node n = {.id = span_number(s->ctx.span),
				 .app = s,
				 .tid = s->tid,
				 .pid = s->pid,
				 .begin_ns = t->begin_ns,
				 .end_ns = t->end_ns,
				 .begin_soft = t->begin_soft,
				 .end_soft = t->end_soft,
				 .threads = t->threads,
				 .split = t->split};

		n.kind = s->begun || s->ended ? NODE_APP : NODE_CONTEXT;
		n.parent = span_number((const u8 *)&s->parent);
		memcpy(n.trace, s->ctx.trace, sizeof(n.trace));
		if (!n.tid && s->seen.list.count)
			n.tid = s->seen.list.data[0].tid;
		err = vec_push(&tree->nodes, n);
	}
	free(times);
	return err;
}

/* The syscall a thread is in, for the faults nested in it. */
struct enclosing {
	u64 begin_ns, end_ns;
};

static u64 kernel_parent(const struct tree_options *o, const struct kspan *k,
			 const struct enclosing *in, u64 thread_id)
{
	if (k->kind == KSPAN_WAIT && k->visit_ns) {
		bool fault = (k->mode & MODE_MASK) == MODE_fault && !(k->mode & MODE_IN_SYSCALL);

		return kernel_id(o, k->tid, k->visit_ns, fault ? NODE_FAULT : NODE_SYSCALL);
	}
	if (k->kind == KSPAN_FAULT && in && k->begin_ns >= in->begin_ns && k->end_ns <= in->end_ns)
		return kernel_id(o, k->tid, in->begin_ns, NODE_SYSCALL);
	if (!context_is_none(&k->ctx))
		return span_number(k->ctx.span);
	return thread_id;
}

static int kernel_node(const struct partial *p, const struct tree_options *o, const struct kspan *k,
		       struct map *open, struct tree *tree)
{
	static const enum node_kind kinds[] = {[KSPAN_SYSCALL] = NODE_SYSCALL,
					       [KSPAN_FAULT] = NODE_FAULT,
					       [KSPAN_WAIT] = NODE_WAIT,
					       [KSPAN_URING] = NODE_URING};
	struct enclosing *in = map_get(open, k->tid);
	u64 thread_id = kernel_id(o, k->tid, 0, NODE_THREAD);
	struct node n = {.kind = kinds[k->kind],
			 .kernel = k,
			 .tid = k->tid,
			 .pid = k->pid,
			 .begin_ns = k->begin_ns,
			 .end_ns = k->end_ns,
			 .threads = k->kind != KSPAN_URING,
			 .split = k->split};

	if (k->kind == KSPAN_SYSCALL) {
		if (!in) {
			in = calloc(1, sizeof(*in));
			if (!in || map_put(open, k->tid, in)) {
				free(in);
				return -ENOMEM;
			}
		}
		*in = (struct enclosing){k->begin_ns, k->end_ns};
	}
	if (!wanted(o, k->tid, k->pid) || (context_is_none(&k->ctx) && !o->threads))
		return 0;
	n.id = kernel_id(o, k->tid, k->begin_ns, n.kind);
	n.parent = kernel_parent(o, k, in, thread_id);
	n.begin_soft = k->kind == KSPAN_WAIT && k->begin_ns == p->from_ns;
	n.end_soft = k->open || (k->kind == KSPAN_WAIT && k->end_ns == p->to_ns);
	if (k->kind == KSPAN_URING) {
		n.begin_soft = k->mode & URING_BEGIN_UNKNOWN;
		n.end_soft = k->mode & URING_END_UNKNOWN;
	}
	memcpy(n.trace, k->ctx.trace, sizeof(n.trace));
	return vec_push(&tree->nodes, n);
}

static int kernel_nodes(const struct partial *p, const struct tree_options *o, struct tree *tree)
{
	struct map open = {0};
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	for (size_t i = 0; i < p->kspans.count && !err; i++)
		err = kernel_node(p, o, &p->kspans.data[i], &open, tree);
	while (map_next(&open, &at, &entry))
		free(entry.value);
	map_free(&open);
	return err;
}

static int thread_nodes(const struct partial *p, const struct tree_options *o, struct tree *tree)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life *l = p->lives.data[i];
		struct node n = {.kind = NODE_THREAD,
				 .life = l,
				 .tid = l->tid,
				 .pid = l->pid,
				 .begin_ns = l->origin_ns,
				 .end_ns = l->state.last_ns,
				 .threads = 1,
				 .split = l->total,
				 .begin_soft = !l->born,
				 .end_soft = l->state.place != LIFE_GONE};

		if (!wanted(o, l->tid, l->pid))
			continue;
		n.id = kernel_id(o, l->tid, 0, NODE_THREAD);
		if (l->tid != l->left_tid || (l->born && i && p->lives.data[i - 1]->tid == l->tid))
			n.id = kernel_id(o, l->tid, l->origin_ns, NODE_THREAD);
		err = vec_push(&tree->nodes, n);
	}
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
	size_t *first_child, *last_child, *next; /* number + 1; 0: none */
	struct node *out;
	size_t count;
};

/* Iterative, since a thread can nest as deep as its input says. */
static void emit_from(struct ordering *o, size_t root, size_t *stack)
{
	size_t depth = 0;

	stack[depth++] = root + 1;
	while (depth) {
		size_t at = stack[--depth] - 1;

		o->out[o->count++] = o->nodes[at];
		if (at != root && o->next[at])
			stack[depth++] = o->next[at];
		if (o->first_child[at])
			stack[depth++] = o->first_child[at];
	}
}

static int link_children(struct tree *tree, struct ordering *o)
{
	struct map number = {0};
	size_t n = tree->nodes.count;
	int err = 0;

	for (size_t i = n; i-- > 0 && !err;)
		err = map_put(&number, tree->nodes.data[i].id, (void *)(i + 1));
	for (size_t i = 0; i < n && !err; i++) {
		struct node *node = &tree->nodes.data[i];
		size_t up = node->parent ? (size_t)map_get(&number, node->parent) : 0;

		if (!up || up == i + 1 ||
		    memcmp(tree->nodes.data[up - 1].trace, node->trace, 16) != 0) {
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
		/* marks that it has a parent here */
		tree->nodes.data[i].threads |= 1u << 31;
	}
	map_free(&number);
	return err;
}

static int tree_order(struct tree *tree)
{
	size_t n = tree->nodes.count;
	struct ordering o = {.nodes = tree->nodes.data};
	size_t *stack = calloc(n + 1, sizeof(size_t));
	int err = 0;

	if (n == 0) {
		free(stack);
		return 0;
	}
	qsort(tree->nodes.data, n, sizeof(*tree->nodes.data), node_compare);
	o.first_child = calloc(n, sizeof(size_t));
	o.last_child = calloc(n, sizeof(size_t));
	o.next = calloc(n, sizeof(size_t));
	o.out = malloc(n * sizeof(*o.out));
	err = stack && o.first_child && o.last_child && o.next && o.out ? link_children(tree, &o)
									: -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		if (!(tree->nodes.data[i].threads & 1u << 31))
			emit_from(&o, i, stack);
	free(stack);
	free(o.first_child);
	free(o.last_child);
	free(o.next);
	if (err) {
		free(o.out);
		return err;
	}
	for (size_t i = 0; i < o.count; i++)
		o.out[i].threads &= ~(1u << 31);
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
	if (!err && options->threads)
		err = thread_nodes(p, options, tree);
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
