/* SPDX-License-Identifier: Apache-2.0 */
/* A request of Zipkin on its way from JSON to spans. */
#ifndef WIRE_ZIPKIN_READING_H
#define WIRE_ZIPKIN_READING_H

#include "base/json_reader.h"
#include "base/vec.h"
#include "wire/zipkin.h"

struct endpoint {
	struct json_text service, ipv4, ipv6;
	uint64_t port;
};

struct reading {
	struct json_reader json;
	struct pool *pool; /* NULL: a walk */
	struct received_batch *out;
	bool no_memory;
	uint64_t spans, values;
	/* of the span at hand */
	struct received_span span;
	struct received_scope scope;
	struct endpoint local, remote;
	bool has_trace, has_id;
	uint64_t duration_ns;
	VEC(struct attribute) tags;
	VEC(struct received_event) events;
	/* of the last span, which the next one often has, too */
	const struct received_resource *resource;
	const struct received_scope *last_scope;
};

/* A copy in the pool; "" in a walk and after a failure. */
const char *zipkin_text_keep(struct reading *r, struct json_text text);

/* Adds an attribute to the span at hand; does nothing in a walk. */
void zipkin_tag_add(struct reading *r, const struct attribute *tag);

/* Appends the span at hand, of which all is read, to the batch. Not in a walk. */
void zipkin_span_add(struct reading *r);

#endif
