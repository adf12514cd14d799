/* SPDX-License-Identifier: Apache-2.0 */
#include "map/tree/tree.h"
#include "map/fact/gaps.h"
#include "map/fact/query.h"
#include "map/kernel/enclosing.h"
#include "map/span/holders.h"
#include "map/tree/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

u64 tree_kernel_id(u64 boot, u32 tid, u64 begin_ns, enum node_kind kind)
{
	u64 id = hash_pair(hash_pair(boot, begin_ns), (u64)tid << 8 | kind);

	return id ? id : 1;
}

static u64 kernel_id(const struct tree_options *o, u32 tid, u64 begin_ns, enum node_kind kind)
{
	return tree_kernel_id(o->boot, tid, begin_ns, kind);
}

static bool wanted(const struct tree_options *o, u32 tid, u32 pid)
{
	return (!o->pid || o->pid == pid) && (!o->tid || o->tid == tid);
}

int tree_apps(const struct partial *p, struct tree *tree)
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

		if (!s->ended && partial_over_before(p, t->end_ns))
			continue;
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
	struct map open;  /* whose_of() -> struct stays, owned */
	struct map above; /* node_key() of a span or thread -> its number in the tree + 1 */
};

/* The id of the span or thread under which it ran. */
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
	return gaps_begin_after(p, time_ns) == time_ns || gaps_end_before(p, time_ns) == time_ns;
}

/* A key for the thread: two threads that had one number in turn differ. */
static u64 whose_of(const struct holder *owner, u32 tid)
{
	return owner ? 1ull << 32 | owner->life : tid;
}

/* The stays in the kernel of a thread. */
struct stays {
	struct enclosing in;
	struct pieces pieces;
};

/* Those of the thread, made if it is new; NULL if there is no memory. */
static struct stays *stays_get(struct making_kernel *m, u64 whose)
{
	struct stays *in = map_get(&m->open, whose);

	if (in)
		return in;
	in = calloc(1, sizeof(*in));
	if (in && map_put(&m->open, whose, in)) {
		free(in);
		return NULL;
	}
	return in;
}

static void node_bounds(const struct partial *p, const struct kspan *k, struct node *n)
{
	bool wait = k->kind == KSPAN_WAIT;

	n->begin_soft = wait && (k->open || is_edge(p, k->begin_ns));
	if (k->kind == KSPAN_SYSCALL)
		n->begin_soft = k->mode & SYSCALL_BEGIN_SOFT;
	n->end_soft = k->open || (wait && is_edge(p, k->end_ns));
	if (k->kind == KSPAN_FAULT)
		n->end_soft |= k->args[2] & FAULT_SOFT_END;
	if (k->kind == KSPAN_URING) {
		n->begin_soft = k->mode & URING_BEGIN_UNKNOWN;
		n->end_soft = k->mode & URING_END_UNKNOWN;
	}
}

/* Parts of one bio were submitted at once: their place tells them apart. */
u64 tree_kspan_id(u64 boot, const struct kspan *k, u32 tid, enum node_kind *kind)
{
	static const enum node_kind kinds[] = {[KSPAN_SYSCALL] = NODE_SYSCALL,
					       [KSPAN_FAULT] = NODE_FAULT,
					       [KSPAN_WAIT] = NODE_WAIT,
					       [KSPAN_URING] = NODE_URING,
					       [KSPAN_BLOCK] = NODE_BLOCK};
	u64 id;

	*kind = kinds[k->kind];
	id = tree_kernel_id(boot, tid, k->begin_ns, *kind);
	if (*kind == NODE_BLOCK)
		id = hash_pair(id, k->args[BLOCK_ARG_SECTOR]);
	return id ? id : 1;
}

/* Adds nodes for threads that only events name: they had ended before, or have no other record. */
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
			err = tree_stand_in(tree, &m->above, &child, above);
	}
	return err;
}

/* Adds a node of the kernel, which stands below `above`. */
static int kernel_node_add(struct making_kernel *m, struct tree *tree, struct stays *stays,
			   const struct kspan *k, const struct node *n)
{
	int err;

	if (k->kind != KSPAN_SYSCALL)
		return vec_push(&tree->nodes, *n);
	err = tree_call(m->p, tree, &stays->pieces, k, n);
	stays->in.call.shown_ns = stays->pieces.shown_ns;
	return err;
}

static int kernel_node(struct making_kernel *m, size_t index, const struct kspan *k,
		       struct tree *tree)
{
	/* a request belongs to its submitter, which may be gone when it completes */
	bool request = k->kind == KSPAN_URING || k->kind == KSPAN_BLOCK;
	u64 known_ns = request ? k->begin_ns : k->end_ns;
	const struct holder *owner = holders_find(&m->holders, k->tid, known_ns);
	const struct tree_options *o = m->o;
	/* ids use the number that the thread had at its end */
	u32 tid = owner ? m->p->lives.data[owner->life]->tid : k->tid;
	struct stays *stays = stays_get(m, whose_of(owner, k->tid));
	const struct visit *visit = stays ? enclosing_of(&stays->in, k) : NULL;
	struct context ctx = visit ? visit->ctx
				   : k->ctx; /* it stands under the span of its visit */
	u64 above = kernel_above(m, k, &ctx, owner);
	bool left_out = (!wanted(o, k->tid, k->pid) && !wanted(o, tid, k->pid)) ||
			(context_is_none(&ctx) && !o->threads);
	struct node n = {.parent = above,
			 .of = (u32)index + 1,
			 .tid = k->tid,
			 .pid = k->pid,
			 .begin_ns = k->begin_ns,
			 .end_ns = k->end_ns};
	enum node_kind kind;
	int err;

	if (!stays)
		return -ENOMEM;
	n.id = tree_kspan_id(o->boot, k, tid, &kind);
	n.kind = kind;
	if (visit && !visit->left_out)
		n.parent = kernel_id(o, tid, visit->shown_ns, visit_node(visit));
	enclosing_follow(&stays->in, k, &ctx, left_out); /* `visit` ends here */
	if (left_out)
		return 0;
	node_bounds(m->p, k, &n);
	memcpy(n.trace, ctx.trace, sizeof(n.trace));
	err = tree_stand_in(tree, &m->above, &n, above);
	return err ? err : kernel_node_add(m, tree, stays, k, &n);
}

/* Cuts the node of a thread at the range of the answer, as its time is. */
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
		if (h->number == l->tid && wanted(m->o, l->tid, l->pid) &&
		    !partial_over_before(m->p, l->state.last_ns))
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

static void calls_end(const struct making_kernel *m, struct tree *tree)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&m->open, &at, &entry))
		tree_calls_end(tree, &((const struct stays *)entry.value)->pieces);
}

/* Makes room for so many nodes and a few that stand in; growing would take twice the memory. */
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

/* Notes the nodes that may be above spans of the kernel: they stand in the tree before them. */
static int above_fill(struct making_kernel *m, struct tree *tree)
{
	int err = m->o->threads ? thread_nodes(m, tree) : 0;

	for (size_t i = 0; i < tree->nodes.count && !err; i++)
		err = tree_above_put(&m->above, &tree->nodes.data[i], i);
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
	calls_end(&m, tree);
	if (!err && o->threads)
		err = stand_ins_of_events(&m, tree);
	making_kernel_free(&m);
	return err;
}

/* Whether numbers of 32 bits suffice: at most one node stands in for each other one. */
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
	err = tree_apps(p, tree);
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
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&tree->before, &at, &entry))
		free(entry.value);
	map_free(&tree->before);
	vec_free(&tree->nodes);
	free(tree->order);
	free(tree->times);
	*tree = (struct tree){0};
}

/* ---- what is not kept in the node ---- */

struct split node_split(const struct partial *p, const struct tree *tree, const struct node *n)
{
	const struct split *before;
	struct split split;
	struct kspan k;

	if (!n->of)
		return (struct split){0};
	if (n->kind == NODE_THREAD)
		return p->lives.data[n->of - 1]->total;
	if (!node_is_kernel(n))
		return tree->times[n->of - 1].split;
	kspans_get(&p->kspans, n->of - 1, &k);
	split = idle_split(p, &k);
	before = n->restarted ? map_get(&tree->before, n->id) : NULL;
	if (before)
		split_add(&split, before);
	return split;
}

u32 node_threads(const struct tree *tree, const struct node *n)
{
	if (!n->of || n->kind == NODE_URING || n->kind == NODE_BLOCK)
		return 0;
	return node_is_kernel(n) || n->kind == NODE_THREAD ? 1 : tree->times[n->of - 1].threads;
}
