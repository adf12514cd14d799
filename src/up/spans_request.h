/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of services, instrumented or not, as spans of the store: of each exchange one of kind
 * client and one of kind server, with the attributes that `fathom requests` shows:
 *
 *   network.transport, network.local.address|port, network.peer.address|port, bytes.from, bytes.to,
 *   answer.from, answer.to, edge.evidence, edge.probability, edge.candidates, request.unread_ns,
 *   answer.unread_ns, fathom.version,
 *   fathom.time.PART_ns, fathom.threads, fathom.begin, fathom.end, thread.id,
 *   fathom.kernel, .more_count, .more_ns, .why as of other spans (up/spans.h), where no span of an
 *   application tells of the same or is below it
 *
 * and
 *
 *   fathom.stands_for       sums count it for so many: of the others nothing is stored
 *   fathom.child            the id of a span of the application that is below it: answers show it
 *                           there (serve/join.h)
 *   fathom.counted_as       the id of a span of the application that tells of the same: lists and
 *                           sums have that one alone
 *   fathom.call_counted_as  the id of the span of the calling application, if the called one names
 *                           it as its parent: the call is counted with these
 *
 * Where spans of applications take part in a request, the first one of them gives it its trace id.
 * They are not added: they are in the store by themselves.
 */
#ifndef UP_SPANS_REQUEST_H
#define UP_SPANS_REQUEST_H

#include "base/map.h"
#include "request/requests.h"
#include "up/decider.h"
#include "up/sent.h"
#include "up/spans.h"

/* What the store has, or gets, by others. */
struct request_stored {
	const struct map *spans; /* ids of spans that were added before, as a set */
	struct sent *sent;	 /* what applications sent; NULL: nothing */
	/* what was decided by: calls of its own programs are left out; NULL: there are none */
	const struct decider_input *input;
	u32 stands_for; /* 0: for itself alone */
	u32 times;	/* of so many like it, it is the one that is stored; 0: itself alone */
};

/*
 * Adds the spans of a trace, without those that were added before. One call that got no answer
 * is an error. Kernel spans of chosen ones stand behind all of them: of a server those of the
 * threads that worked for it, of a client those of one that waited for the answer. What exporters
 * send to this program is in no request. 0 or -ENOMEM.
 */
int spans_add_request(struct spans *s, const struct requests *r, const struct request_trace *t,
		      const struct request_stored *stored);

#endif
