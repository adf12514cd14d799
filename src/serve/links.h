/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls between services: a span is called from its parent, if that is of another service. A shared
 * span is called from the other half of its id. A call to a service that sent no span is
 * known from its caller alone.
 */
#ifndef SERVE_LINKS_H
#define SERVE_LINKS_H

#include "base/vec.h"
#include "span/received.h"

struct service_link {
	const char *from, *to; /* borrowed from the spans */
	uint64_t calls, errors;
};

typedef VEC(struct service_link) service_links;

/*
 * Adds the links between services, from the spans of whole traces, and sorts all by their names
 * without regard to case. Names that differ in their case alone are the same service if
 * `is_caseless`. 0 or -ENOMEM.
 */
int links_find(const struct received_batch *batch, bool is_caseless, service_links *out);

/* Sorts links in this way, and adds up those between the same services. */
void links_fold(service_links *links, bool is_caseless);

/* The name of the service at the other end of a call; NULL: it is unknown. */
const char *remote_service(const struct received_span *span);

#endif
