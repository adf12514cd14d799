/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stints: when which thread worked for which request. A thread works for a request from an event
 * of it to the next one: it received the request, sent a call of it, received the answer of that,
 * or sent the answer. Between events of two requests it worked for the first one until its last
 * sleep before the second event, and for the second one after it.
 */
#ifndef REQUEST_STINTS_H
#define REQUEST_STINTS_H

#include "request/exchanges.h"
#include "request/thread_times.h"

struct stint {
	u32 exchange; /* whose server the thread worked for */
	u32 tid;
	u64 from_ns, to_ns;
};

/* Starts with all zero. */
struct stints {
	VEC(struct stint) list; /* by exchange, then time; those of a thread do not overlap */
	/*
	 * Of each exchange: its caller's thread did nothing for anybody else between the call and
	 * its answer.
	 */
	u8 *waited;
};

struct stints_input {
	const struct exchange *exchanges;
	size_t count;
	const u32 *parents; /* of each the request to which it belongs, or EDGE_ROOT */
	const struct processes *processes;
	const struct thread_times *times; /* of each host */
};

/* 0 or -ENOMEM; free it in any case. */
int stints_make(struct stints *out, const struct stints_input *in);
void stints_free(struct stints *s);

/* The stints of an exchange: their number, and the first of them. */
size_t stints_of(const struct stints *s, u32 exchange, const struct stint **first);

#endif
