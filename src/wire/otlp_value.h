/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of values and attributes, of a request that was walked: its structure is known good. */
#ifndef WIRE_OTLP_VALUE_H
#define WIRE_OTLP_VALUE_H

#include "base/error.h"
#include "base/pool.h"
#include "base/protobuf.h"
#include "span/received.h"

/* Walks a request that was taken, whatever the limits were then. As otlp_walk(). */
int otlp_walk_taken(const void *data, size_t bytes, struct error *e);

/* How many fields of that number a message has. */
size_t fields_count(struct protobuf_bytes message, uint32_t number);

/* A copy in the pool that is valid UTF-8; NULL: no memory. */
const char *pool_text(struct pool *pool, struct protobuf_bytes text);

/*
 * Decodes the repeated KeyValue of field `number`. Those behind otlp_attributes_most() are counted
 * in list->dropped, to which they are added. 0 or -ENOMEM.
 */
int attributes_decode(struct pool *pool, struct protobuf_bytes message, uint32_t number,
		      struct received_list *list);

/* Repeated KeyValues that were counted. */
struct attribute_fields {
	struct protobuf_bytes message;
	uint32_t number;
	size_t count;
};

/*
 * The same. Attributes with the keys of `like`, in their order, share them: it is of the same pool,
 * or NULL.
 */
int attribute_fields_decode(struct pool *pool, const struct attribute_fields *fields,
			    const struct received_list *like, struct received_list *list);

#endif
