/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that begin again behind a signal handler. Such a call has several records, its pieces. It
 * is one node, from the begin of its first piece to the end of its last one. What the handler did
 * lies below it.
 */
#include "map/tree/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/idle.h"
#include "map/unknown.h"
#include "model/syscall_format.h"

static bool is_piece(const struct kspan *k)
{
	return k->kind == KSPAN_SYSCALL && !k->open && syscall_is_restart(k->result);
}

static bool returns_from_handler(const struct kspan *k)
{
	int nr = k->mode & SYSCALL_COMPAT ? syscall_native(k->nr) : k->nr;

	return k->kind == KSPAN_SYSCALL && nr == SYSCALL_NR_rt_sigreturn;
}

static bool is_same_call(const struct kspan *piece, const struct kspan *k)
{
	return piece->nr == k->nr && !((piece->mode ^ k->mode) & SYSCALL_COMPAT) &&
	       memcmp(piece->args, k->args, sizeof(k->args)) == 0;
}

/*
 * Whether the next call of the thread can be the restart of a piece. A call that goes on without a
 * handler has pieces only if its begin was not seen.
 */
static bool may_go_on(const struct pieces *in, const struct kspan *piece)
{
	return in->returned || (in->follows && piece->mode & SYSCALL_BEGIN_SOFT);
}

/* Whether the node lies between a piece and the restart, and stands beside both. */
static bool is_of_handler(const struct node *n, const struct node *call, const struct node *restart)
{
	return node_is_kernel(n) && n->tid == call->tid && n->parent == call->parent &&
	       n->begin_ns >= call->end_ns && n->end_ns <= restart->begin_ns &&
	       memcmp(n->trace, call->trace, sizeof(n->trace)) == 0;
}

/* Puts the nodes of the handler below the call. The time that they do not tell of is user code. */
static struct split handler_take(const struct partial *p, struct tree *tree,
				 const struct piece *piece, const struct node *restart)
{
	const struct node *call = &tree->nodes.data[piece->node];
	const struct unknown_of between = {.pid = restart->pid,
					   .tid = restart->tid,
					   .begin_ns = call->end_ns,
					   .end_ns = restart->begin_ns};
	bool doubt = unknown_reasons(p, &between) & (UNKNOWN_gap | UNKNOWN_loss);
	s64 rest = (s64)(between.end_ns - between.begin_ns);
	struct split sum = {0};

	for (size_t i = piece->nodes; i < tree->nodes.count; i++) {
		struct node *n = &tree->nodes.data[i];
		struct split split;

		if (!is_of_handler(n, call, restart))
			continue;
		split = node_split(p, tree, n);
		split_add(&sum, &split);
		rest -= (s64)(n->end_ns - n->begin_ns);
		n->parent = call->id;
	}
	if (rest > 0)
		sum.ns[doubt ? SPLIT_unknown : SPLIT_user] += rest;
	return sum;
}

/* The time of a call before its last piece, made if it is new; NULL if there is no memory. */
static struct split *before_get(struct tree *tree, u64 id)
{
	struct split *before = map_get(&tree->before, id);

	if (before)
		return before;
	before = calloc(1, sizeof(*before));
	if (before && map_put(&tree->before, id, before)) {
		free(before);
		return NULL;
	}
	return before;
}

/* Makes the node of a piece last until the end of the restart. */
static int piece_extend(const struct partial *p, struct tree *tree, const struct piece *piece,
			const struct node *restart)
{
	struct node *call = &tree->nodes.data[piece->node];
	struct split *before = before_get(tree, call->id), more, between;
	struct kspan k;

	if (!before)
		return -ENOMEM;
	kspans_get(&p->kspans, call->of - 1, &k);
	more = idle_split(p, &k);
	between = handler_take(p, tree, piece, restart);
	split_add(before, &more);
	split_add(before, &between);
	call->restarted = true;
	call->of = restart->of;
	call->end_ns = restart->end_ns;
	call->end_soft = restart->end_soft;
	return 0;
}

/* The innermost piece with which the call goes on; NULL: it is another call. */
static struct piece *piece_find(const struct partial *p, const struct tree *tree, struct pieces *in,
				const struct kspan *k)
{
	for (u32 i = in->count; i-- > 0;) {
		struct piece *piece = &in->list[i];
		struct kspan before;

		kspans_get(&p->kspans, tree->nodes.data[piece->node].of - 1, &before);
		if (!is_same_call(&before, k))
			continue;
		in->count = i + 1; /* handlers that were left by a jump never return */
		return may_go_on(in, &before) ? piece : NULL;
	}
	return NULL;
}

static struct piece *piece_add(struct pieces *in)
{
	if (in->count == PIECES_MAX)
		memmove(&in->list[0], &in->list[1], --in->count * sizeof(in->list[0]));
	return &in->list[in->count++];
}

int tree_call(const struct partial *p, struct tree *tree, struct pieces *in, const struct kspan *k,
	      const struct node *n)
{
	struct piece *piece = in->count ? piece_find(p, tree, in, k) : NULL;
	const struct node *call = piece ? &tree->nodes.data[piece->node] : NULL;
	bool goes_on = call && call->parent == n->parent &&
		       memcmp(call->trace, n->trace, sizeof(n->trace)) == 0;
	int err = goes_on ? piece_extend(p, tree, piece, n) : vec_push(&tree->nodes, *n);

	if (err)
		return err;
	in->shown_ns = goes_on ? call->begin_ns : n->begin_ns;
	in->returned = returns_from_handler(k);
	in->follows = is_piece(k);
	if (in->follows && !goes_on) {
		piece = piece_add(in);
		piece->node = tree->nodes.count - 1;
	}
	if (in->follows)
		piece->nodes = tree->nodes.count;
	else if (goes_on)
		in->count--;
	return 0;
}

void tree_calls_end(struct tree *tree, const struct pieces *in)
{
	for (u32 i = 0; i < in->count; i++)
		tree->nodes.data[in->list[i].node].end_soft = true;
}
