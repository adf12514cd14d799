/* SPDX-License-Identifier: Apache-2.0 */
#include "up/spans_request.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "map/fact/query.h"
#include "request/nodes.h"
#include "up/spans_internal.h"

#define ATTRIBUTES_MOST (24 + SPLIT_PARTS_COUNT)
#define PPM 1e6

struct adding {
	struct spans *s;
	const struct requests *r;
	struct trace_id trace;
	struct map children; /* id of a span -> that of the first app right below it */
};

static const struct exchange *exchange_at(const struct adding *a, const struct request_span *of)
{
	return &a->r->exchanges.data[of->of];
}

static const struct exchange_end *end_of(const struct adding *a, const struct request_span *of)
{
	const struct exchange *x = exchange_at(a, of);

	return of->kind == REQUEST_SERVER ? &x->server : &x->caller;
}

/* ---- ids ---- */

static struct trace_id trace_of_bytes(const u8 id[16])
{
	return (struct trace_id){span_number(id), span_number(id + 8)};
}

/* The trace of the first span of an application; without any, that of the request. */
static struct trace_id trace_choose(const struct requests *r, const struct request_trace *t)
{
	for (size_t i = t->first; i < t->end; i++) {
		const struct request_span *s = &r->spans.data[i];

		if (s->kind == REQUEST_APP)
			return trace_of_bytes(request_app_node(&r->apps, s->of)->trace);
	}
	return trace_of_bytes(t->id);
}

/* 0 or -ENOMEM. */
static int children_find(struct adding *a, const struct request_trace *t)
{
	int err = 0;

	for (size_t i = t->first; i < t->end && !err; i++) {
		const struct request_span *s = &a->r->spans.data[i];
		u64 parent = s->kind == REQUEST_APP ? request_span_parent(a->r, s) : 0;

		if (parent && !map_get(&a->children, parent))
			err = map_put(&a->children, parent,
				      (void *)(uintptr_t)request_span_id(a->r, s));
	}
	return err;
}

/* ---- the program ---- */

static int resource_make(struct spans *s, const struct requests *r, u32 process,
			 struct received_resource *resource)
{
	const struct request_process *of = &r->processes.list.data[process];
	const struct partial *p = r->hosts[of->host].p;
	const char *service = process_service(&r->processes, process);
	u64 last_ns = of->until_ns < p->to_ns ? of->until_ns : p->to_ns;
	const char *name = query_comm(p, of->pid, last_ns);
	const char *container = query_container(p, of->pid, of->seen_ns);
	struct list list;

	if (list_make(s, &list, 4))
		return -ENOMEM;
	resource->service = *service && strlen(service) <= SERVICE_BYTES_MAX ? text_keep(s, service)
									     : SERVICE_UNKNOWN;
	list_number(&list, "process.pid", of->pid);
	if (name)
		list_text(&list, "process.executable.name", text_keep(s, name));
	if (container)
		list_text(&list, "container.id", text_keep(s, container));
	list_text(&list, "host.name", text_keep(s, s->chunk->host));
	for (size_t i = 0; i < list.count; i++) {
		if (list.data[i].type == VALUE_STRING && !list.data[i].string)
			return -ENOMEM;
	}
	resource->attributes = list_view(&list);
	return resource->service ? 0 : -ENOMEM;
}

/* Resources are by number of the process here. */
static const struct received_resource *resource_of(struct adding *a, u32 process)
{
	struct received_resource *resource = map_get(&a->s->resources, process);

	if (resource)
		return resource;
	resource = pool_alloc(&a->s->pool, 1, sizeof(*resource));
	if (!resource || resource_make(a->s, a->r, process, resource) ||
	    map_put(&a->s->resources, process, resource))
		return NULL;
	return resource;
}

/* ---- attributes ---- */

static void text_add(struct spans *s, struct list *list, const char *key, const char *text)
{
	const char *kept = text_keep(s, text);

	if (kept)
		list_text(list, key, kept);
}

static void real_add(struct list *list, const char *key, double value)
{
	list_add(list, &(struct attribute){.key = key, .type = VALUE_REAL, .real = value});
}

static void connection_add(struct adding *a, struct list *list, const struct request_span *of)
{
	const struct connection *c = &a->r->connections.list.data[exchange_at(a, of)->connection];
	bool server = of->kind == REQUEST_SERVER;
	const struct fact_socket *socket = server ? c->server.socket : c->caller.socket;
	char text[INET6_ADDRSTRLEN];

	if (!socket)
		return;
	if (socket->socket.family == AF_UNIX) {
		list_text(list, "network.transport", "unix");
		if (socket->path)
			text_add(a->s, list,
				 server ? "network.local.address" : "network.peer.address",
				 socket->path);
		return;
	}
	list_text(list, "network.transport", "tcp");
	if (socket->socket.local_port) {
		request_address(&socket->socket, false, text, sizeof(text));
		text_add(a->s, list, "network.local.address", text);
		list_number(list, "network.local.port", socket->socket.local_port);
	}
	if (socket->socket.remote_port) {
		request_address(&socket->socket, true, text, sizeof(text));
		text_add(a->s, list, "network.peer.address", text);
		list_number(list, "network.peer.port", socket->socket.remote_port);
	}
}

static void ranges_add(struct list *list, const struct exchange *x)
{
	list_number(list, "bytes.from", x->from);
	list_number(list, "bytes.to", x->to);
	if (x->answer_to == x->answer_from)
		return;
	list_number(list, "answer.from", x->answer_from);
	list_number(list, "answer.to", x->answer_to);
}

static void evidence_add(struct list *list, enum edge_evidence evidence, double probability)
{
	list_text(list, "edge.evidence", edge_evidence_name(evidence));
	real_add(list, "edge.probability", probability);
}

/* How the two ends of an exchange were found to be of one. */
static void joined_add(const struct adding *a, struct list *list, const struct exchange *x)
{
	u32 ambiguous = a->r->connections.list.data[x->connection].ambiguous;

	evidence_add(list, EDGE_BYTES, ambiguous > 1 ? 1.0 / ambiguous : 1);
	if (ambiguous)
		list_number(list, "edge.candidates", ambiguous);
}

/* Of a server how long the request waited for it, of a client how long the answer did. */
static void unread_add(const struct adding *a, struct list *list, const struct request_span *of)
{
	bool server = of->kind == REQUEST_SERVER;
	u64 ns = request_unread_ns(a->r, of->of, !server);

	if (ns)
		list_number(list, server ? "request.unread_ns" : "answer.unread_ns", ns);
}

static void edge_add(const struct adding *a, struct list *list, const struct request_span *of)
{
	const struct requests *r = a->r;
	const struct edge *e = &r->edges[of->of];
	bool server = of->kind == REQUEST_SERVER;

	if (server && exchange_at(a, of)->caller.process) {
		joined_add(a, list, exchange_at(a, of));
	} else if (r->node_parents[node_of_exchange(of->of, server)] == NO_NODE) {
		return;
	} else if (r->parents[of->of] == EDGE_ROOT) { /* the span of an application called */
		evidence_add(list, EDGE_GIVEN, 1);
	} else {
		evidence_add(list, e->evidence, e->probability_ppm / PPM);
		list_number(list, "edge.candidates", e->candidates);
	}
}

static void child_add(struct adding *a, struct list *list, u64 id)
{
	u64 child = (uintptr_t)map_get(&a->children, id);
	char text[17];

	if (!child)
		return;
	snprintf(text, sizeof(text), "%016" PRIx64, child);
	text_add(a->s, list, "fathom.child", text);
}

static int attributes_make(struct adding *a, const struct request_span *of,
			   const struct request_bounds *bounds, struct received_span *to)
{
	bool server = of->kind == REQUEST_SERVER;
	u32 threads = 1;
	const struct split split = request_span_time(a->r, of->of, server, &threads);
	struct list list;

	if (list_make(a->s, &list, ATTRIBUTES_MOST))
		return -ENOMEM;
	list_number(&list, "fathom.version", a->s->chunk->seq + 1);
	list_number(&list, "thread.id", end_of(a, of)->first_tid);
	connection_add(a, &list, of);
	ranges_add(&list, exchange_at(a, of));
	edge_add(a, &list, of);
	unread_add(a, &list, of);
	child_add(a, &list, to->span_id);
	if (threads > 1)
		list_number(&list, "fathom.threads", threads);
	if (bounds->begin_soft)
		list_text(&list, "fathom.begin", "soft");
	if (bounds->end_soft)
		list_text(&list, "fathom.end", "soft");
	split_add_to(&list, &split);
	to->attributes = list_view(&list);
	return 0;
}

/* ---- the span ---- */

static int span_add(struct adding *a, const struct request_span *of)
{
	const struct request_bounds bounds = request_bounds_of(a->r, of);
	struct received_span to = {.trace = a->trace,
				   .span_id = request_span_id(a->r, of),
				   .parent_id = request_span_parent(a->r, of),
				   .begin_ns = unix_of(a->s, bounds.begin_ns),
				   .end_ns = unix_of(a->s, bounds.end_ns),
				   .name = text_keep(a->s, request_operation(a->r, of->of)->name),
				   .trace_state = "",
				   .status_text = "",
				   .kind = of->kind == REQUEST_SERVER ? RECEIVED_SERVER
								      : RECEIVED_CLIENT,
				   .scope = &span_scope};
	int err;

	if (request_is_unanswered(a->r, of->of)) {
		to.status = RECEIVED_ERROR;
		to.status_text = "no answer";
	}
	to.resource = resource_of(a, end_of(a, of)->process);
	if (!to.name || !to.resource)
		return -ENOMEM;
	err = attributes_make(a, of, &bounds, &to);
	return err ? err : vec_push(&a->s->batch, to);
}

int spans_add_request(struct spans *s, const struct requests *r, const struct request_trace *t,
		      const struct map *stored)
{
	struct adding a = {.s = s, .r = r, .trace = trace_choose(r, t)};
	int err = children_find(&a, t);

	for (size_t i = t->first; i < t->end && !err; i++) {
		const struct request_span *of = &r->spans.data[i];

		if (of->kind != REQUEST_APP && !map_get(stored, request_span_id(r, of)))
			err = span_add(&a, of);
	}
	map_free(&a.children);
	return err;
}
