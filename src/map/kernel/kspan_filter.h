/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans of the kernel a partial keeps (struct kspan_filter in map/partial.h). */
#ifndef MAP_KERNEL_KSPAN_FILTER_H
#define MAP_KERNEL_KSPAN_FILTER_H

#include "map/kernel/kspans.h"
#include "record/record.h"

struct partial;

/* Whether options ask for what this thread did in the kernel under that span (all zero: none). */
bool partial_wants(const struct partial *p, const struct context *ctx, u32 pid, u32 tid);

/* Keeps a copy, if options ask for it. 0 or -ENOMEM. */
int kspan_keep(struct partial *p, const struct kspan *k);

/*
 * Once the lives of both are merged: takes the spans of `right` of which it is not known yet
 * whether options ask for them. 0 or -ENOMEM.
 */
int undecided_merge(struct partial *left, struct partial *right);
void undecided_free(struct partial *p);

#endif
