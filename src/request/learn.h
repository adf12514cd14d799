/* SPDX-License-Identifier: Apache-2.0 */
/* Observes what services do for their requests, forward or backward in time. */
#ifndef REQUEST_LEARN_H
#define REQUEST_LEARN_H

#include "request/link_internal.h"

/* Takes a count. 0 or -ENOMEM. */
typedef int (*lesson_take)(void *to, const struct learned_key *key, u64 count);

struct lessons {
	struct link *l;
	const struct link_process *p;
	u32 *owners; /* scratch: by number of the call; in->exchange_count */
	bool backward;
	lesson_take take;
	void *to;
	u64 from_ns, until_ns; /* only requests that came then are observed; until 0: all */
};

/*
 * Observes the requests of a process that had it to themselves: every call meanwhile was theirs.
 * It depends on no decision. Overwrites owners of the calls of the process. 0 or -ENOMEM. Limits
 * hold here only.
 */
int lessons_alone(const struct lessons *s);

/* Observes all requests that were answered; the caller has set the owners. 0 or -ENOMEM. */
int lessons_owned(const struct lessons *s);

/* The logarithm to the base 2 in units of 1 / 256; that of 0 is that of 1. */
u32 log2_fixed(u64 value);

#endif
