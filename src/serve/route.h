/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of the query API: a function that answers each of them. */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include <errno.h>
#include <microhttpd.h>

#include "base/bytes.h"
#include "base/pool.h"
#include "serve/api.h"

#define ANSWER_BYTES_MAX ((size_t)256 << 20) /* spans of one answer */
#define LATER_WORD_BYTES 64

/* A request that is answered later. Starts with all zero. */
struct later {
	int status; /* and `word`: for the route that said QUERY_LATER */
	char word[LATER_WORD_BYTES];
};

/* The connection is suspended; once it is resumed, the route is called again. */
#define QUERY_LATER (-EINPROGRESS)

/* What a request brings that may change something, until it is answered. Starts with all zero. */
struct sent {
	struct bytes body;
	struct later later;
};

struct query {
	struct MHD_Connection *connection;
	const struct api_source *source;
	const char *word;   /* of the path, for "*" of the route */
	const char *method; /* GET and HEAD, unless the path may change something */
	struct sent *sent;  /* the body of the request; NULL: it has none */
	bool is_own;	    /* the path is of fathom's own API */
	struct pool *pool;  /* until the answer is made */
	struct bytes *body; /* the answer, in JSON unless `type` says another content type */
	const char *type;
	struct error *e;
	const char *kernel; /* which kernel spans trace_find() found: none, stored, all */
	struct MHD_Response *response; /* NULL; else it is sent in place of the body */
};

/*
 * A path: "*" stands for any text. The function fills the body and returns the HTTP status, or a
 * negative errno with a cause, or QUERY_LATER.
 */
struct route {
	const char *path;
	int (*answer)(struct query *q);
};

/* Each ends with a NULL path. */
extern const struct route own_routes[];
extern const struct route own_monitor_routes[];
extern const struct route jaeger_routes[];
extern const struct route jaeger_v3_routes[];
extern const struct route jaeger_metrics_routes[];
extern const struct route zipkin_routes[];
extern const struct route metrics_routes[];

/* The paths of an address. */
struct route_set {
	struct api_source source;
	const struct route *const *tables; /* ends with NULL */
	const char *own; /* errors of this path and below it are JSON; NULL: of none */
};

#define SENT_BYTES_MAX 65536u /* of the body of a request that changes something */

/*
 * Answers a request, or suspends it. `sent` is its body, which stays until the end of the request;
 * NULL: it has none, or it was passed over.
 */
enum MHD_Result routes_answer(const struct route_set *routes, struct MHD_Connection *connection,
			      const char *url, const char *method, struct sent *sent);

/* A parameter of the query; NULL: it is missing or empty. */
const char *query_value(const struct query *q, const char *name);

/* Reads an id of 1 to 32 hex digits. False: it is none. */
bool trace_id_parse(const char *text, struct trace_id *id);

static inline bool trace_id_equals(struct trace_id a, struct trace_id b)
{
	return a.high == b.high && a.low == b.low;
}

/* 32 and 16 lower-case hex digits. */
void trace_id_text(char text[TRACE_ID_BYTES], struct trace_id id);
void span_id_text(char text[SPAN_ID_BYTES], uint64_t id);

/*
 * Finds the spans of traces, as store_find(), and joins them, or strips them if the parameter
 * `fathom` is 0, or else if the API is plain (api.h): join.h. Free the batch.
 */
int traces_joined(struct query *q, const struct store_ids *ids, struct received_batch *out);

/*
 * Finds one trace, and behind its spans its kernel spans, unless these are stripped, or the
 * parameter `kernel` is 0.
 * 0, -ENOENT if it has no span, or another error. Free the batch.
 */
int trace_find(struct query *q, struct trace_id id, struct received_batch *out);

#endif
