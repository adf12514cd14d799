/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spans of a finished partial as trees: one per trace, and one per thread
 * for what ran under no span.
 *
 * Ids of kernel spans are derived from (boot, tid, begin, kind), so that any
 * grouping of any chunks names them alike, and a wait knows the id of its
 * syscall without having seen it.
 */
#ifndef MAP_TREE_H
#define MAP_TREE_H

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

struct node {
	u8 trace[16];	/* all zero: under no span */
	u64 id, parent; /* as numbers that print as the id's 16 digits; parent 0: a root */
	u64 above;	/* kernel spans: the span or thread, should the parent be none */
	enum node_kind kind;
	bool begin_soft, end_soft;
	u32 tid, pid;
	u32 threads; /* the most that had it at once; NODE_URING, NODE_BLOCK: none has */
	u64 begin_ns, end_ns;
	struct split split;
	const struct app_span *app; /* NODE_APP, NODE_CONTEXT; of the partial; NULL: it stands in */
	size_t kernel;		    /* of node_is_kernel(): its index, for kspans_get() */
	const struct life *life;    /* NODE_THREAD; NULL: it stands in */
	size_t life_number;	    /* with life: its number in partial.lives + 1 */
};

static inline bool node_is_kernel(const struct node *n)
{
	return n->kind == NODE_SYSCALL || n->kind == NODE_FAULT || n->kind == NODE_WAIT ||
	       n->kind == NODE_URING || n->kind == NODE_BLOCK;
}

struct tree {
	/* By trace (those under no span last), then depth first, siblings by begin. */
	VEC(struct node) nodes;
};

struct tree_options {
	u64 boot;     /* hash of the boot id: part of derived ids */
	bool threads; /* also what ran under no span, a tree per thread */
	u32 pid, tid; /* not 0: only kernel spans and threads of these */
};

/*
 * Builds the trees of a partial that was mapped with options.spans and
 * finished. 0 or -ENOMEM. Free with tree_free(); the partial must outlive it.
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
	u32 threads;
	struct split split;
};
int span_times(const struct partial *p, struct span_time *out);

/* A span id as the number that prints as its 16 digits, and back from records. */
static inline u64 span_number(const u8 id[8])
{
	u64 n;

	__builtin_memcpy(&n, id, 8);
	return __builtin_bswap64(n);
}

#endif
