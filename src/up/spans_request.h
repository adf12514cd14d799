/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of services, instrumented or not, as spans of the store: of each exchange one of kind
 * client and one of kind server, with the attributes that `fathom requests` shows:
 *
 *   network.transport, network.local.address|port, network.peer.address|port, bytes.from, bytes.to,
 *   answer.from, answer.to, edge.evidence, edge.probability, edge.candidates, request.unread_ns,
 *   answer.unread_ns, fathom.version,
 *   fathom.time.PART_ns, fathom.threads, fathom.begin, fathom.end, thread.id
 *
 * and fathom.child: the id of a span of the application that is below it. That one is stored
 * without a parent, and answers show it there (serve/join.h).
 *
 * Where spans of applications take part in a request, the first one of them gives it its trace id.
 * They are not added: they are in the store by themselves.
 */
#ifndef UP_SPANS_REQUEST_H
#define UP_SPANS_REQUEST_H

#include "base/map.h"
#include "request/requests.h"
#include "up/spans.h"

/*
 * Adds the spans of a trace, without those whose ids are in `stored`. One call that got no answer
 * is an error. 0 or -ENOMEM.
 */
int spans_add_request(struct spans *s, const struct requests *r, const struct request_trace *t,
		      const struct map *stored);

#endif
