/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Received spans and their contexts, which come in any order: the split of a context is summed up
 * with the operation of the span. The memory is bounded, and the oldest go first.
 */
#ifndef STORE_PAIRS_H
#define STORE_PAIRS_H

#include "base/map.h"
#include "store/told.h"

#define PAIRS_MAX 100000u /* in each of two times */

struct pair {
	bool has_span, has_context;
	bool has_several; /* several spans have the ids: the context is of none of them */
	/* of the span, as the sums have it */
	uint64_t operation, begin_ns, duration_ns;
	bool is_error;
	struct pair_split *split; /* NULL until a context came: most spans have none */
};

struct pair_split {
	struct told told; /* of the span, as the sums have it */
	struct told context;
};

struct pairs {
	struct map maps[2]; /* the newer ones first */
	bool is_used;	    /* a context came: spans are kept from then on */
};

/* Keeps the context of a pair. 0 or -ENOMEM. */
int pair_context_set(struct pair *pair, const struct told *context);

/* The pair with the ids of the span, which is made if there is none. NULL: no memory. */
struct pair *pairs_get(struct pairs *p, const struct received_span *span);

/* The split of the context for the span: what it lacks of the duration is unknown. */
struct told pair_told(const struct pair *pair);

void pairs_forget(struct pairs *p);

#endif
