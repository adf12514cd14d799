/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of OTLP, the OpenTelemetry protocol, that bring spans, in protobuf.
 *
 * A request is walked when it comes: what is malformed is refused before it is acknowledged. It is
 * decoded later, from what was stored of it, by a reader that trusts nothing. Both take the same
 * requests and count the same spans.
 */
#ifndef WIRE_OTLP_H
#define WIRE_OTLP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/vec.h"
#include "span/received.h"

#define OTLP_DEPTH 32	       /* of values in values, unless it is set lower */
#define OTLP_ATTRIBUTES 1024   /* of a span, an event, a link; the rest is counted as dropped */
#define OTLP_ATTRIBUTES_MIN 64 /* that may be set: spans of this host's map have as many */
#define OTLP_ATTRIBUTES_MAX 65536
#define OTLP_VALUES_MAX (2u << 20) /* attributes, events and links of a request */

/*
 * Limits of this process, also for Zipkin's requests; 0 leaves one as it is. Set them before the
 * first request: not thread-safe.
 */
struct otlp_limits {
	unsigned int depth, attributes;
};
void otlp_limits_set(const struct otlp_limits *limits);

/* The limit of attributes that is set. */
size_t otlp_attributes_most(void);

struct otlp_walk {
	uint64_t spans;		/* of the request, rejected ones included */
	VEC(uint64_t) rejected; /* numbers of those without a trace id or a span id, from 0 */
};

/*
 * Checks the structure of a request and builds nothing but the list of rejected spans. 0; -EPROTO
 * with a cause if it is malformed, too deep, or has too many values; -ENOMEM. Free
 * the walk in any case.
 */
int otlp_walk(const void *data, size_t bytes, struct otlp_walk *out, struct error *e);
void otlp_walk_free(struct otlp_walk *walk);

/*
 * Decodes a request and appends its spans, without rejected ones, to the batch. Whatever they point
 * to is in the pool. 0; -EPROTO as otlp_walk(); -ENOMEM, also at the limit of the pool. On
 * failure the batch has the spans that it had.
 */
int otlp_decode(const void *data, size_t bytes, struct pool *pool, struct received_batch *out,
		struct error *e);

#endif
