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

/* A busy host's recording has tens of millions: what a node is of has the rest of what it says. */
struct node {
	u8 trace[16];	/* all zero: under no span */
	u64 id, parent; /* as numbers that print as the id's 16 digits; parent 0: a root */
	u64 begin_ns, end_ns;
	u32 tid, pid;
	/*
	 * Its number + 1 in the partial's kspans (of node_is_kernel(), for kspans_get()), lives
	 * (NODE_THREAD) or spans (the others); 0: it stands in for what nothing tells of.
	 */
	u32 of;
	u8 kind; /* enum node_kind */
	bool begin_soft, end_soft;
};

_Static_assert(sizeof(struct node) == 64, "tens of millions of them fit into the memory");

static inline bool node_is_kernel(const struct node *n)
{
	return n->kind == NODE_SYSCALL || n->kind == NODE_FAULT || n->kind == NODE_WAIT ||
	       n->kind == NODE_URING || n->kind == NODE_BLOCK;
}

/* The span of the application that it is, NULL: it is none, or stands in. */
static inline const struct app_span *node_app(const struct partial *p, const struct node *n)
{
	bool app = n->kind == NODE_APP || n->kind == NODE_CONTEXT;

	return app && n->of ? p->spans.data[n->of - 1] : NULL;
}

/* Whose thread it is, NULL: it is none, or stands in. */
static inline const struct life *node_life(const struct partial *p, const struct node *n)
{
	return n->kind == NODE_THREAD && n->of ? p->lives.data[n->of - 1] : NULL;
}

struct tree {
	VEC(struct node) nodes;
	u32 *order; /* of nodes: by trace (no span last), then depth first, siblings by begin */
	struct span_time *times; /* of the spans of the partial, in their order; owned */
};

/* The one that stands at `index` in the order. */
static inline const struct node *tree_node(const struct tree *tree, size_t index)
{
	return &tree->nodes.data[tree->order[index]];
}

struct tree_options {
	u64 boot;     /* hash of the boot id: part of derived ids */
	bool threads; /* also what ran under no span, a tree per thread */
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
 * Time split of an application span: what it and its descendants had on the
 * threads that it had itself, and as off_thread when no thread had it. `threads` gets
 * the most threads that had it at once; if these are several, their times are summed up, and
 * are longer together than the span. Computed for all spans of the partial
 * at once: `out` has as many elements as p->spans, in the same order.
 */
struct span_time {
	u64 begin_ns, end_ns;
	bool begin_soft, end_soft;
	bool cut; /* its stays on threads, or of what is below it, were taken to last longer */
	u32 threads;
	struct split split;
};
int span_times(const struct partial *p, struct span_time *out);

/* Where the time of a node went, and the most threads that had it at once: a request none. */
struct split node_split(const struct partial *p, const struct tree *tree, const struct node *n);
u32 node_threads(const struct tree *tree, const struct node *n);

/* A span id as the number that prints as its 16 digits, and back from records. */
static inline u64 span_number(const u8 id[8])
{
	u64 n;

	__builtin_memcpy(&n, id, 8);
	return __builtin_bswap64(n);
}

#endif
