/* SPDX-License-Identifier: Apache-2.0 */
/* How each kind of record is applied to a partial. */
#ifndef MAP_RECORDS_H
#define MAP_RECORDS_H

#include "map/partial.h"

/* Whether no more lives are kept: LIVES_MAX. */
static inline bool partial_is_full(const struct partial *p)
{
	size_t most = p->options.lives_max ? p->options.lives_max : LIVES_MAX;

	return p->lives.count >= most && p->fed / 2 < p->lives.count;
}

/* Applies a record wherever its time lies. 0 or -ENOMEM. */
int partial_apply_now(struct partial *p, const struct record_head *r);

/*
 * Applies a record of a time whose records are not all there: no life follows from it. But what an
 * application says of its thread holds from from_ns on. 0 or -ENOMEM.
 */
int partial_apply_outside(struct partial *p, const struct record_head *r, u64 from_ns);

/* Whether an application tells a span by it. */
bool record_is_of_span(const struct record_head *r);

#endif
