/* SPDX-License-Identifier: Apache-2.0 */
/* How many kernel events there were while threads worked for a request. */
#ifndef ANSWER_REQUEST_EVENTS_H
#define ANSWER_REQUEST_EVENTS_H

#include "answer/span_builder.h"
#include "request/requests.h"

/* An event that the user chose. */
struct request_event {
	u64 time_ns;
	u32 host, tid;
	u32 name; /* number in request_events.names */
};

/* Starts with all zero. */
struct request_events {
	VEC(struct request_event) list; /* by host, thread, time */
	VEC(char *) names;		/* "system:name"; owned */
};

/* Collects the events of all hosts. 0 or -ENOMEM; free it in any case. */
int request_events_make(struct request_events *out, const struct request_host *hosts, size_t count);
void request_events_free(struct request_events *e);

/*
 * Adds the attribute events.count to the span of a server, which the builder has made: an object
 * with a count for each event by name, and for page faults. Without any it adds nothing.
 */
void request_events_tell(struct span_builder *b, const struct request_events *e,
			 const struct requests *r, u32 exchange);

#endif
