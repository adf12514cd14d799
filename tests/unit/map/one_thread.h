/* SPDX-License-Identifier: Apache-2.0 */
/* Records of thread 5, and two spans that it is in. */
#ifndef TESTS_MAP_ONE_THREAD_H
#define TESTS_MAP_ONE_THREAD_H

#include "apply.h"

static const struct context outer = {{1}, {0, 0, 0, 0, 0, 0, 0, 1}};
static const struct context inner = {{1}, {0, 0, 0, 0, 0, 0, 0, 2}};

static inline struct record_head head(u8 kind, u64 time_ns)
{
	return (struct record_head){.kind = kind, .time_ns = time_ns, .tid = 5, .pid = 5};
}

/* Of a sampled span; `next` is active then, or none if it is NULL. */
static inline void span_ends(struct partial *p, u64 time_ns, const struct context *ctx,
			     const struct context *next)
{
	struct record_span_end r = {
		.head = head(RECORD_span_end, time_ns), .ctx = *ctx, .flags = 1};

	if (next)
		r.next = *next;
	apply(p, &r);
}

#endif
