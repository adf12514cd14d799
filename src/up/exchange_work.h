/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did in the kernel for an end of an exchange: calls, waits and page faults that began
 * while they worked for it. A server whose thread waited for the answer of a call of its own has
 * not that time, which is the client's, as with spans that lie in each other.
 */
#ifndef UP_EXCHANGE_WORK_H
#define UP_EXCHANGE_WORK_H

#include "base/map.h"
#include "request/requests.h"

#define EXCHANGE_WORK_MAX 2000u /* kernel spans of one end: the longest ones */

/* Starts with all zero. For one thread. */
struct exchange_work {
	VEC(struct kspan) list;	 /* the longest first */
	u64 more_count, more_ns; /* those that are not in the list */
	struct map waits; /* hash of thread and begin of the calls whose callers waited; a set */
};

/* Finds the waits of the callers of a trace. 0 or -ENOMEM. */
int exchange_work_begin(struct exchange_work *w, const struct requests *r,
			const struct request_trace *t);

/* Fills the list with what was done for a span of that trace. 0 or -ENOMEM. */
int exchange_work_find(struct exchange_work *w, const struct requests *r,
		       const struct request_span *of);

void exchange_work_free(struct exchange_work *w);

#endif
