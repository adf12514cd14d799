/* SPDX-License-Identifier: Apache-2.0 */
#include "request/nodes.h"

#include <errno.h>
#include <stdlib.h>

bool node_is_there(const struct requests *r, u32 node)
{
	struct request_span s = node_span(r, node);
	const struct exchange *x;

	if (s.kind == REQUEST_APP)
		return true;
	x = &r->exchanges.data[s.of];
	return s.kind == REQUEST_SERVER ? x->server.process : x->caller.process;
}

/* The app that had the thread at an end; NO_APP: none. */
static u32 app_at(const struct requests *r, const struct exchange_end *end)
{
	return end->detail ? r->details.apps.data[end->detail] : NO_APP;
}

/* Of each app, the first request that it served, + 1. */
static void servers_find(const struct requests *r, u32 *served)
{
	for (u32 i = 0; i < r->exchanges.count; i++) {
		u32 app = app_at(r, &r->exchanges.data[i].server), top;

		if (app == NO_APP)
			continue;
		top = r->apps.list.data[app].top;
		if (!served[top] || r->exchanges.data[i].server.first_ns <
					    r->exchanges.data[served[top] - 1].server.first_ns)
			served[top] = i + 1;
	}
}

/* A call is below the span that made it, unless that is of another request. */
static u32 call_parent(const struct requests *r, u32 i, const u32 *served)
{
	u32 app = app_at(r, &r->exchanges.data[i].caller), parent = r->parents[i], by;

	by = app == NO_APP ? 0 : served[r->apps.list.data[app].top];
	if (app != NO_APP && (!by || parent == EDGE_ROOT || by - 1 == parent))
		return node_of_app(r, app);
	return parent == EDGE_ROOT ? NO_NODE : node_of_exchange(parent, true);
}

static u32 app_parent(const struct requests *r, u32 app, const u32 *served)
{
	const struct request_app *a = &r->apps.list.data[app];

	if (a->top == app && served[app])
		return node_of_exchange(served[app] - 1, true);
	return a->above == NO_APP ? NO_NODE : node_of_app(r, a->above);
}

int nodes_join(struct requests *r)
{
	u32 *served = calloc(r->apps.list.count + 1, sizeof(*served));

	r->node_parents = calloc(nodes_count(r) + 1, sizeof(*r->node_parents));
	if (!served || !r->node_parents) {
		free(served);
		return -ENOMEM;
	}
	servers_find(r, served);
	for (u32 i = 0; i < r->exchanges.count; i++) {
		u32 caller = node_of_exchange(i, false), server = node_of_exchange(i, true);

		r->node_parents[caller] = call_parent(r, i, served);
		r->node_parents[server] = r->exchanges.data[i].caller.process
						  ? caller
						  : r->node_parents[caller];
	}
	for (u32 i = 0; i < r->apps.list.count; i++)
		r->node_parents[node_of_app(r, i)] = app_parent(r, i, served);
	free(served);
	return 0;
}
