/* SPDX-License-Identifier: Apache-2.0 */
/* What lies below the span of a request's server: calls, waits and page faults of its threads. */
#ifndef ANSWER_REQUEST_KERNEL_H
#define ANSWER_REQUEST_KERNEL_H

#include "answer/span_builder.h"
#include "answer/trace.h"
#include "request/requests.h"

/* A span of the kernel while a thread worked for a request. */
struct request_kernel {
	u32 host;
	u32 number; /* of the kspan */
	u64 parent; /* the call that it lies in, else the span of the server */
};

/* Starts with all zero. */
struct request_kernel_list {
	struct request_kernel *data; /* a VEC */
	size_t count, capacity;
};

/* Adds those of the server of an exchange, by thread and time. 0 or -ENOMEM. */
int request_kernel_find(struct request_kernel_list *out, const struct requests *r, u32 exchange);

struct span_position request_kernel_position(const struct requests *r,
					     const struct request_kernel *k);

/* The span, valid until the next one is made. NULL: the memory ran out. */
const struct span *request_kernel_span(struct span_builder *b, const struct requests *r,
				       const struct request_kernel *k);

#endif
