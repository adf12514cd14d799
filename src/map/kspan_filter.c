/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which spans of the kernel are kept. A busy host has hundreds of thousands in a
 * second, of which an answer shows few: who knows which says so.
 */
#include <stdlib.h>
#include <string.h>

#include "map/internal.h"

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

int kspan_keep(struct partial *p, const struct kspan *k)
{
	/* a request to a disk stands where the call does that submitted it */
	if (k->kind == KSPAN_BLOCK ? !p->options.spans : !partial_wants(p, &k->ctx, k->pid, k->tid))
		return 0;
	return kspans_add(&p->kspans, k);
}
