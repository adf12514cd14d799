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
 * Appends the links between services, from the spans of whole traces, sorted by their names without
 * regard to case. Names that differ in their case alone are the same service if `is_caseless`.
 * 0 or -ENOMEM.
 */
int links_find(const struct received_batch *batch, bool is_caseless, service_links *out);

/* The name of the service at the other end of a call; NULL: it is unknown. */
const char *remote_service(const struct received_span *span);

#endif
