/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of Zipkin that bring spans: version 2 of its format, in JSON.
 *
 * A Zipkin span becomes a span of OTLP in this way, and src/serve/zipkin_json.c turns it back:
 *
 *   localEndpoint   service.name of the resource; network.local.address and .port of the span
 *   remoteEndpoint  peer.service, network.peer.address and .port of the span
 *   annotations     events without attributes
 *   tags            attributes that are texts; "error" (but not "false"), "otel.status_code",
 *                   "otel.status_description", "otel.scope.name" and "otel.scope.version" become
 *                   status and scope
 *   debug           zipkin.debug of the span
 *   shared          `shared`: the server's half of an RPC, under the id of the client's half
 */
#ifndef WIRE_ZIPKIN_H
#define WIRE_ZIPKIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pool.h"
#include "span/received.h"

#define ZIPKIN_DEBUG "zipkin.debug"
#define ZIPKIN_PEER_SERVICE "peer.service"
#define ZIPKIN_PEER_ADDRESS "network.peer.address"
#define ZIPKIN_PEER_PORT "network.peer.port"
#define ZIPKIN_LOCAL_ADDRESS "network.local.address"
#define ZIPKIN_LOCAL_PORT "network.local.port"

/*
 * Checks a request and counts its spans; builds nothing. 0; -EPROTO with a cause if it is malformed
 * or one of its spans is bad: without an id, with an id of zeros, or of other than lower-case hex
 * digits.
 */
int zipkin_walk(const void *data, size_t bytes, uint64_t *spans, struct error *e);

/*
 * Decodes a request and appends its spans to the batch. Whatever they point to is in the pool. 0;
 * -EPROTO as zipkin_walk(); -ENOMEM, also at the limit of the pool. On failure the batch has the
 * spans that it had.
 */
int zipkin_decode(const void *data, size_t bytes, struct pool *pool, struct received_batch *out,
		  struct error *e);

#endif
