/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of requests as values. */
#ifndef ANSWER_REQUEST_SPANS_H
#define ANSWER_REQUEST_SPANS_H

#include "answer/span_builder.h"
#include "answer/trace.h"
#include "request/requests.h"

/* An edge less probable than this is shown as unsure. */
#define EDGE_SURE_PPM 950000

/*
 * Makes a span of a request, valid until the next one is made. NULL: the memory ran out. The
 * builder's partial, tree and host are set here.
 */
const struct span *request_span_make(struct span_builder *b, const struct requests *r,
				     const struct request_span *of);

/*
 * One span for the two of an exchange: it lasts as long as the caller waited, with the time of the
 * server. Its only attributes say how the exchange was found to belong to its request, if that is
 * not sure, which a "?" before its name says, too.
 */
const struct span *request_span_brief(struct span_builder *b, const struct requests *r,
				      u32 exchange);

/* The place and time split of that span. */
struct span_position request_brief_position(const struct requests *r, u32 exchange);
struct request_bounds request_brief_bounds(const struct requests *r, u32 exchange);
struct split request_brief_time(const struct requests *r, u32 exchange);

/* What the server's threads did. Off them, it waited for calls of its own (network), or else. */
struct split request_server_time(const struct requests *r, u32 exchange);

#endif
