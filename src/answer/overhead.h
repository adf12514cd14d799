/* SPDX-License-Identifier: Apache-2.0 */
/* What recording cost, and whom. Only groupings.c and describe.c use it. */
#ifndef ANSWER_OVERHEAD_H
#define ANSWER_OVERHEAD_H

#include "answer/group.h"
#include "answer/source.h"

/* The rows by overhead of a finished partial with partial_options.hits. 0 or -ENOMEM. */
int fill_overhead(struct rows *out, const struct partial *p);

/* The cost as a whole. */
void cost_view_of(const struct partial *p, struct cost_view *out);

#endif
