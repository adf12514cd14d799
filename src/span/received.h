/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that other tracers sent, as plain values: what receivers hand to stores, and stores to
 * answers. All texts are UTF-8 without NUL, and never NULL. Whoever fills a batch says who owns its
 * memory: usually one pool. Times are nanoseconds since 1970.
 */
#ifndef SPAN_RECEIVED_H
#define SPAN_RECEIVED_H

#include "span/span.h"

#define SERVICE_UNKNOWN "unknown_service" /* of a resource without service.name */
#define SERVICE_BYTES_MAX 1023		  /* each span is stored with it; a longer one is unknown */

enum received_kind { /* as OTLP numbers them */
		     RECEIVED_UNSPECIFIED = 0,
		     RECEIVED_INTERNAL = 1,
		     RECEIVED_SERVER = 2,
		     RECEIVED_CLIENT = 3,
		     RECEIVED_PRODUCER = 4,
		     RECEIVED_CONSUMER = 5,
};

enum received_status { RECEIVED_UNSET = 0, RECEIVED_OK = 1, RECEIVED_ERROR = 2 };

struct received_list {
	const struct attribute *data;
	size_t count;
	uint32_t dropped; /* by the sender, and by limits on receiving */
};

/* The program that sent the span. */
struct received_resource {
	const char *service;
	struct received_list attributes;
};

/* The library that made the span. */
struct received_scope {
	const char *name;
	const char *version;
	struct received_list attributes;
};

struct received_event {
	uint64_t time_ns;
	const char *name;
	struct received_list attributes;
};

struct trace_id {
	uint64_t high, low; /* the id in big-endian order; both 0: none */
};

struct received_link {
	struct trace_id trace;
	uint64_t span_id;
	const char *trace_state;
	struct received_list attributes;
};

struct received_span {
	struct trace_id trace;
	uint64_t span_id;
	uint64_t parent_id; /* 0: a root */
	uint64_t begin_ns;
	uint64_t end_ns; /* may lie before the begin: senders' clocks step */
	const char *name;
	const char *trace_state;
	const char *status_text;
	uint8_t kind;	/* enum received_kind */
	uint8_t status; /* enum received_status */
	bool shared; /* Zipkin's: the server's half of an RPC, under the id of the client's half */
	uint32_t flags;
	const struct received_resource *resource;
	const struct received_scope *scope;
	struct received_list attributes;
	const struct received_event *events;
	size_t events_count;
	uint32_t events_dropped;
	const struct received_link *links;
	size_t links_count;
	uint32_t links_dropped;
};

/* The array is the batch's own. */
struct received_batch {
	struct received_span *data;
	size_t count;
	size_t capacity;
};

/* "server", ...; "unspecified" for 0 and unknown numbers. */
const char *received_kind_name(unsigned int kind);

/* The number of that name, or -1. */
int received_kind_parse(const char *name);

/* How long the span took; 0 if it ended before it began. */
static inline uint64_t received_duration_ns(const struct received_span *span)
{
	return span->end_ns > span->begin_ns ? span->end_ns - span->begin_ns : 0;
}

#endif
