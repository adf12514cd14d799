/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spans of requests as numbers: an exchange has two, that of its caller and that of its server,
 * and each span of an application has one behind these.
 */
#ifndef REQUEST_NODES_H
#define REQUEST_NODES_H

#include "request/requests.h"

#define NO_NODE UINT32_MAX

static inline u32 node_of_exchange(u32 exchange, bool server)
{
	return 2 * exchange + server;
}

static inline u32 node_of_app(const struct requests *r, u32 app)
{
	return (u32)(2 * r->exchanges.count) + app;
}

static inline size_t nodes_count(const struct requests *r)
{
	return 2 * r->exchanges.count + r->apps.list.count;
}

/* What a node stands for. */
static inline struct request_span node_span(const struct requests *r, u32 node)
{
	size_t exchanges = 2 * r->exchanges.count;

	if (node >= exchanges)
		return (struct request_span){(u32)(node - exchanges), REQUEST_APP};
	return (struct request_span){node / 2, node & 1 ? REQUEST_SERVER : REQUEST_CLIENT};
}

/* Whether the end of the exchange was recorded; an app always was. */
bool node_is_there(const struct requests *r, u32 node);

/*
 * Fills requests.node_parents. A span of an application within a request is below the span of its
 * server, and a call that it made is below it. 0 or -ENOMEM.
 */
int nodes_join(struct requests *r);

#endif
