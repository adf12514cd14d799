/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of rules at a time. Rules over the same time share a query of the store, where they
 * are many. A round that takes too long ends: the rules that are left are late.
 */
#ifndef MONITOR_ROUND_H
#define MONITOR_ROUND_H

#include <stdatomic.h>

#include "base/vec.h"
#include "monitor/state.h"

#define ROUND_NS UINT64_C(8000000000) /* so long a round takes, but for its last query */
#define ROUND_SHARED_MIN 8u	      /* so many rules share a query */

/* A rule, and the value that was found. */
struct round_rule {
	struct monitor_rule rule;
	uint64_t number; /* of the monitor */
	bool is_done;
	struct monitor_sample sample;
	char why[MONITOR_WHY_BYTES]; /* why there is no value; "": there is one */
};

struct round {
	struct store *store;
	uint64_t received_ns;	  /* since 1970: spans are received since then */
	uint64_t *alone_until_ns; /* monotonic: a shared query failed; until then there is none */
	VEC(struct round_rule) rules; /* owned */
	const atomic_bool *stop;
	/* Takes the values of rules as they are found. */
	void (*take)(void *arg, struct round_rule *rule);
	void *arg;
};

/* Finds values in the order of the rules. Returns the place of the first late one; count: none. */
size_t round_run(struct round *r);
void round_free(struct round *r);

#endif
