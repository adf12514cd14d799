/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spans of a finished partial as trees: one per trace, and one per thread
 * for what ran under no span.
 *
 * Ids of kernel spans are derived from (boot, tid, begin, kind), so that any
 * grouping of any chunks names them alike, and a wait knows the id of its
 * syscall without having seen it.
 */
#ifndef MAP_TREE_TREE_H
#define MAP_TREE_TREE_H

#include "map/partial.h"

enum node_kind {
	NODE_APP,
	NODE_CONTEXT,
	NODE_SYSCALL,
	NODE_FAULT,
	NODE_WAIT,
	NODE_THREAD,
	NODE_URING,
	NODE_BLOCK
};

/* A recording of a busy host has tens of millions: the rest is in the element that `of` names. */
struct node {
	u8 trace[16];	/* all zero: under no span */
	u64 id, parent; /* as numbers that print as the id's 16 digits; parent 0: a root */
	u64 begin_ns, end_ns;
	u32 tid, pid;
	/*
	 * Number + 1 of an element of the partial: of kspans if node_is_kernel() (for
	 * kspans_get()), of lives if NODE_THREAD, else of spans. 0: the node stands in for a thread
	 * or span that nothing else tells of.
	 */
	u32 of;
	u8 kind; /* enum node_kind */
	bool begin_soft, end_soft;
	bool restarted; /* a call that began again: `of` is its last piece, see tree.before */
};

_Static_assert(sizeof(struct node) == 64, "tens of millions of them fit into the memory");

static inline bool node_is_kernel(const struct node *n)
{
	return n->kind == NODE_SYSCALL || n->kind == NODE_FAULT || n->kind == NODE_WAIT ||
	       n->kind == NODE_URING || n->kind == NODE_BLOCK;
}

/* The application span of the node; NULL: the node is none, or stands in. */
static inline const struct app_span *node_app(const struct partial *p, const struct node *n)
{
	bool app = n->kind == NODE_APP || n->kind == NODE_CONTEXT;

	return app && n->of ? p->spans.data[n->of - 1] : NULL;
}

/* The life of the node of a thread; NULL: the node is none, or stands in. */
static inline const struct life *node_life(const struct partial *p, const struct node *n)
{
	return n->kind == NODE_THREAD && n->of ? p->lives.data[n->of - 1] : NULL;
}

struct tree {
	VEC(struct node) nodes;
	u32 *order; /* of nodes: by trace (no span last), then depth first, siblings by begin */
	struct span_time *times; /* of the spans of the partial, in their order; owned */
	/* id of a call that began again -> struct split of its time before its last piece; owned */
	struct map before;
};

/* The node that stands at `index` in the order. */
static inline const struct node *tree_node(const struct tree *tree, size_t index)
{
	return &tree->nodes.data[tree->order[index]];
}

struct tree_options {
	u64 boot;     /* hash of the boot id: part of derived ids */
	bool threads; /* also what ran under no span: one tree for each thread */
	u32 pid, tid; /* not 0: only kernel spans and threads of these */
};

/*
 * Builds the trees of a partial that was mapped with options.spans and
 * finished. 0, -ENOMEM, or -EOVERFLOW for 4 billion nodes and more. Free with tree_free(); the
 * partial must outlive it.
 */
int tree_build(const struct partial *p, const struct tree_options *options, struct tree *tree);
void tree_free(struct tree *tree);

/*
 * Adds the nodes of the application's spans alone, in the order of partial.spans, to a tree that is
 * all zero. Nothing is put in order. 0 or -ENOMEM; free it with tree_free().
 */
int tree_apps(const struct partial *p, struct tree *tree);

/*
 * Time split of an application span: the time of the span and its descendants on the threads that
 * the span had itself, and off_thread when no thread had it. `threads` is the most threads that had
 * it at once; if these are several, their times are summed up and exceed the duration. Computed for
 * all spans of the partial at once: `out` has as many elements as p->spans, in the same order.
 */
struct span_time {
	u64 begin_ns, end_ns;
	bool begin_soft, end_soft;
	bool cut; /* stays of it, or of a span below it, were taken to last longer than told */
	u32 threads;
	struct split split;
};
int span_times(const struct partial *p, struct span_time *out);

/* The time split of a node; the time of a request is on no thread. */
struct split node_split(const struct partial *p, const struct tree *tree, const struct node *n);
u32 node_threads(const struct tree *tree, const struct node *n);

/* The derived id of a kernel span of the thread `tid`; `boot` is that of tree_options. */
u64 tree_kernel_id(u64 boot, u32 tid, u64 begin_ns, enum node_kind kind);

/* The same, and the kind of its node. `tid` is the number that the thread had at its end. */
u64 tree_kspan_id(u64 boot, const struct kspan *k, u32 tid, enum node_kind *kind);

/* A span id as the number that prints as its 16 digits, and back from records. */
static inline u64 span_number(const u8 id[8])
{
	u64 n;

	__builtin_memcpy(&n, id, 8);
	return __builtin_bswap64(n);
}

#endif
