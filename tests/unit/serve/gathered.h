/* SPDX-License-Identifier: Apache-2.0 */
/* Spans for tests of what looks at many requests: of a trace, with a parent, times and attributes.
 */
#ifndef TESTS_UNIT_SERVE_GATHERED_H
#define TESTS_UNIT_SERVE_GATHERED_H

#include "serve/gather.h"

static const struct received_resource shop = {.service = "shop"};

#define INTEGER(name, value)                                                                       \
	{                                                                                          \
		.key = name, .type = VALUE_INTEGER, .integer = value                               \
	}
#define STRING(name, value)                                                                        \
	{                                                                                          \
		.key = name, .type = VALUE_STRING, .string = value                                 \
	}
#define LIST(array) ((struct received_list){array, sizeof(array) / sizeof(*(array)), 0})

static inline struct received_span span_make(uint64_t trace, uint64_t id, uint64_t parent,
					     const char *name, uint64_t took_ns)
{
	return (struct received_span){.trace = {0, trace},
				      .span_id = id,
				      .parent_id = parent,
				      .begin_ns = 1000,
				      .end_ns = 1000 + took_ns,
				      .name = name,
				      .resource = &shop};
}

/* The same from one time to another. */
static inline struct received_span span_between(uint64_t id, uint64_t parent, const char *name,
						uint64_t begin_ns, uint64_t end_ns)
{
	struct received_span span = span_make(1, id, parent, name, 0);

	span.begin_ns = begin_ns;
	span.end_ns = end_ns;
	return span;
}

static const struct gather_query all_requests = {.operation = "request", .kind = -1};

#endif
