/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which spans of the kernel are kept. A busy host has hundreds of thousands in a second, and an
 * answer shows few: the options may say which.
 *
 * A wait, or a fault of kernel code, belongs to the call or fault in which it lies
 * (map/kernel/enclosing.h), whose context is told later. If its own context does not say that it is
 * wanted, it waits for that. A merge keeps those that still wait at the end of the left partial:
 * they are few, and nobody sees one unless its call or fault is there, too.
 */
#include "map/kernel/kspan_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/meters.h"
#include "map/partial.h"

/*
 * At most so many faults wait: where calls are left out, the call in which they lie is never told.
 * Further faults are kept.
 */
#define UNDECIDED_FAULTS_MAX 65536

static int trace_compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

bool partial_wants(const struct partial *p, const struct context *ctx, u32 pid, u32 tid)
{
	const struct kspan_filter *only = p->options.only;

	if (!p->options.spans || !only)
		return p->options.spans;
	if (only->pid && pid != only->pid)
		return false;
	/* an exec gives any thread of a process the number of its leader */
	if (only->tid && tid != only->tid && pid != only->tid)
		return false;
	if (only->traced && context_is_none(ctx))
		return false;
	return !only->traces ||
	       bsearch(ctx->trace, only->traces, only->traces_count, 16, trace_compare);
}

/* Spans that lie in the last call or fault of a thread which had any. */
struct undecided {
	VEC(struct kspan) list;
	size_t faults;
};

static void undecided_clear(struct partial *p, struct undecided *in)
{
	p->undecided_faults -= in->faults;
	in->list.count = in->faults = 0;
}

/* Whether both lie in one visit. A wait whose begin was not seen does not tell its visit's. */
static bool is_in_visit_of(const struct kspan *k, const struct kspan *first)
{
	if (!first->visit_ns || !k->visit_ns)
		return k->visit_ns <= first->begin_ns;
	return k->visit_ns == first->visit_ns;
}

static int undecided_keep(struct partial *p, struct undecided *in, u64 from_ns)
{
	int err = 0;

	for (size_t i = 0; i < in->list.count && !err; i++)
		if (in->list.data[i].begin_ns >= from_ns)
			err = kspans_add(&p->kspans, &in->list.data[i]);
	undecided_clear(p, in);
	return err;
}

static int undecided_add(struct partial *p, const struct kspan *k)
{
	struct undecided *in = map_get(&p->undecided, k->tid);
	int err;

	if (!in) {
		in = calloc(1, sizeof(*in));
		if (!in || map_put(&p->undecided, k->tid, in)) {
			free(in);
			return -ENOMEM;
		}
	}
	if (in->list.count && !is_in_visit_of(k, &in->list.data[0]))
		undecided_clear(p, in); /* the end of their visit was not told */
	if (k->kind == KSPAN_FAULT && p->undecided_faults == UNDECIDED_FAULTS_MAX) {
		err = undecided_keep(p, in, 0);
		return err ? err : kspans_add(&p->kspans, k);
	}
	if (k->kind == KSPAN_FAULT) {
		p->undecided_faults++;
		in->faults++;
	}
	return vec_push(&in->list, *k);
}

/* A call, or a fault of user code, was told: decides about the spans within it. */
static int undecided_end(struct partial *p, const struct kspan *visit, bool wanted)
{
	struct undecided *in = map_get(&p->undecided, visit->tid);

	if (!in || !in->list.count)
		return 0;
	if (wanted)
		return undecided_keep(p, in, visit->begin_ns);
	undecided_clear(p, in);
	return 0;
}

int undecided_merge(struct partial *left, struct partial *right)
{
	struct map_entry entry;
	struct map none = {0};
	size_t at = 0;
	int err = 0;

	while (!err && map_next(&left->undecided, &at, &entry))
		err = undecided_keep(left, entry.value, 0);
	undecided_free(left);
	left->undecided = right->undecided;
	left->undecided_faults = right->undecided_faults;
	right->undecided = none;
	return err;
}

void undecided_free(struct partial *p)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&p->undecided, &at, &entry)) {
		struct undecided *in = entry.value;

		vec_free(&in->list);
		free(in);
	}
	map_free(&p->undecided);
}

/* Whether it may lie in a call or fault whose end is told later, as faults of kernel code do. */
static bool is_inner(const struct kspan *k)
{
	if (k->kind == KSPAN_FAULT)
		return !(k->args[2] & FAULT_USER);
	return k->kind == KSPAN_WAIT && (k->visit_ns || (k->mode & MODE_MASK) == MODE_syscall);
}

/* Whether only the context of its call or fault can say that it is wanted. */
static bool is_undecided(const struct partial *p, const struct kspan *k)
{
	const struct kspan_filter *only = p->options.only;

	return p->options.spans && is_inner(k) && (only->traced || only->traces) &&
	       (!only->pid || k->pid == only->pid) &&
	       (!only->tid || k->tid == only->tid || k->pid == only->tid);
}

int kspan_keep(struct partial *p, const struct kspan *k)
{
	bool visit = k->kind == KSPAN_SYSCALL ||
		     (k->kind == KSPAN_FAULT && k->args[2] & FAULT_USER);
	bool wanted = partial_wants(p, &k->ctx, k->pid, k->tid);
	int err = 0;

	if (p->options.meters)
		return meters_want(p->options.meters, k) ? kspans_add(&p->kspans, k) : 0;
	/* a request to a disk belongs to the call that submitted it */
	if (k->kind == KSPAN_BLOCK)
		wanted = p->options.spans;
	else if (!wanted && p->options.only && is_undecided(p, k))
		return undecided_add(p, k);
	else if (visit && p->undecided.count)
		err = undecided_end(p, k, wanted);
	return err || !wanted ? err : kspans_add(&p->kspans, k);
}
