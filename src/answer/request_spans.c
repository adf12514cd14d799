/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/request_spans.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "answer/peer_name.h"
#include "answer/process_name.h"
#include "answer/span_make.h"
#include "base/units.h"
#include "map/fact/query.h"
#include "request/nodes.h"

#define PPM 1e6

static const struct exchange *exchange_at(const struct requests *r, u32 exchange)
{
	return &r->exchanges.data[exchange];
}

/* ---- attributes ---- */

/* The address of one side, and its port. */
static void add_address(struct span_builder *b, const char *address_key, const char *port_key,
			const struct record_socket *of)
{
	char address[INET6_ADDRSTRLEN] = "";

	if (!of->remote_port)
		return;
	peer_address(of, address, sizeof(address));
	builder_string(b, address_key, builder_copy(b, address));
	builder_integer(b, port_key, of->remote_port);
}

/* The socket as its other end sees it. */
static struct record_socket mirrored(const struct record_socket *s)
{
	struct record_socket m = *s;

	m.remote_hi = s->local_hi;
	m.remote_lo = s->local_lo;
	m.remote_port = s->local_port;
	return m;
}

static void add_connection(struct span_builder *b, const struct connection *c, bool server)
{
	const struct fact_socket *socket = server ? c->server.socket : c->caller.socket;
	struct record_socket local;

	if (!socket)
		return;
	if (socket->socket.family == AF_UNIX) {
		builder_string(b, "network.transport", "unix");
		if (socket->path)
			builder_string(b, server ? "network.local.address" : "network.peer.address",
				       socket->path);
		return;
	}
	local = mirrored(&socket->socket);
	builder_string(b, "network.transport", "tcp");
	add_address(b, "network.local.address", "network.local.port", &local);
	add_address(b, "network.peer.address", "network.peer.port", &socket->socket);
}

static void add_ranges(struct span_builder *b, const struct exchange *x)
{
	builder_integer(b, "bytes.from", (s64)x->from);
	builder_integer(b, "bytes.to", (s64)x->to);
	if (x->answer_to == x->answer_from)
		return;
	builder_integer(b, "answer.from", (s64)x->answer_from);
	builder_integer(b, "answer.to", (s64)x->answer_to);
}

/* Of the server how long the request waited for it, of the caller how long the answer did. */
static void add_unread(struct span_builder *b, const struct requests *r, u32 exchange, bool server)
{
	u64 ns = request_unread_ns(r, exchange, !server);

	if (ns)
		builder_integer(b, server ? "request.unread_ns" : "answer.unread_ns", (s64)ns);
}

/* How the two ends of an exchange were found to be of one. */
static void add_joined(struct span_builder *b, const struct requests *r, u32 exchange)
{
	const struct exchange *x = exchange_at(r, exchange);
	u32 ambiguous = r->connections.list.data[x->connection].ambiguous;

	builder_string(b, "edge.evidence", edge_evidence_name(EDGE_BYTES));
	builder_real(b, "edge.probability", ambiguous > 1 ? 1.0 / ambiguous : 1);
	if (ambiguous)
		builder_integer(b, "edge.candidates", ambiguous);
	if (x->flags & EXCHANGE_IMPOSSIBLE)
		builder_boolean(b, "clock.impossible", true);
}

static void add_edge(struct span_builder *b, const struct requests *r, u32 exchange, bool server)
{
	const struct edge *e = &r->edges[exchange];

	if (server && exchange_at(r, exchange)->caller.process) {
		add_joined(b, r, exchange);
		return;
	}
	if (r->node_parents[node_of_exchange(exchange, server)] == NO_NODE)
		return;
	if (r->parents[exchange] == EDGE_ROOT) { /* the span of the application called */
		builder_string(b, "edge.evidence", edge_evidence_name(EDGE_GIVEN));
		builder_real(b, "edge.probability", 1);
		return;
	}
	builder_string(b, "edge.evidence", edge_evidence_name(e->evidence));
	builder_real(b, "edge.probability", e->probability_ppm / PPM);
	builder_integer(b, "edge.candidates", e->candidates);
}

/* ---- spans ---- */

static void owner_fill(struct span_builder *b, const struct requests *r, u32 process, u32 tid)
{
	const struct request_process *of = &r->processes.list.data[process];
	const struct request_host *host = &r->hosts[of->host];
	struct span *span = &b->span;

	b->p = host->p;
	span->host = host->name;
	span->service = process_service(&r->processes, process);
	span->process = name_comm(host->p, of->pid, span->begin_ns);
	span->pid = of->pid;
	span->thread = name_comm(host->p, tid, span->begin_ns);
	span->tid = tid;
}

static void ids_fill(struct span *span, u64 id, u64 parent)
{
	span_id_format(span->span_id, id);
	if (parent)
		span_id_format(span->parent_id, parent);
}

static void bounds_fill(struct span *span, const struct request_bounds *bounds)
{
	span->begin_ns = bounds->begin_ns;
	span->end_ns = bounds->end_ns;
	span->begin_soft = bounds->begin_soft;
	span->end_soft = bounds->end_soft;
}

static const struct span *span_done(struct span_builder *b)
{
	b->span.attributes = b->current.data;
	b->span.attributes_count = b->current.count;
	return b->failed ? NULL : &b->span;
}

/* A span of an application, as a trace shows it, but below its request. */
static const struct span *app_span(struct span_builder *b, const struct requests *r,
				   const struct request_span *of)
{
	u32 host = r->apps.list.data[of->of].host;
	u64 parent = request_span_parent(r, of);

	b->p = r->hosts[host].p;
	b->tree = &r->apps.trees[host];
	b->host = r->hosts[host].name;
	if (!span_make(b, request_app_node(&r->apps, of->of), false))
		return NULL;
	if (parent)
		span_id_format(b->span.parent_id, parent);
	return &b->span;
}

static const struct span *exchange_span(struct span_builder *b, const struct requests *r,
					const struct request_span *of)
{
	bool server = of->kind == REQUEST_SERVER;
	const struct exchange *x = exchange_at(r, of->of);
	const struct exchange_end *end = server ? &x->server : &x->caller;
	const struct request_bounds bounds = request_span_bounds(r, of->of, server);
	const char *container, *name;

	builder_reset(b);
	ids_fill(&b->span, request_span_id(r, of), request_span_parent(r, of));
	b->span.name = request_operation(r, of->of)->name;
	b->span.kind = server ? "server" : "client";
	bounds_fill(&b->span, &bounds);
	owner_fill(b, r, end->process, end->first_tid);
	b->span.time = request_span_time(r, of->of, server, &b->span.threads);
	add_connection(b, &r->connections.list.data[x->connection], server);
	add_ranges(b, x);
	add_edge(b, r, of->of, server);
	container = process_container(&r->processes, end->process, &name);
	if (container)
		builder_string(b, "container.id", container);
	if (name)
		builder_string(b, "container.name", name);
	add_unread(b, r, of->of, server);
	return span_done(b);
}

const struct span *request_span_make(struct span_builder *b, const struct requests *r,
				     const struct request_span *of)
{
	return of->kind == REQUEST_APP ? app_span(b, r, of) : exchange_span(b, r, of);
}

/* ---- one for both ---- */

struct request_bounds request_brief_bounds(const struct requests *r, u32 exchange)
{
	return request_span_bounds(r, exchange, !exchange_at(r, exchange)->caller.process);
}

struct span_position request_brief_position(const struct requests *r, u32 exchange)
{
	const struct exchange *x = exchange_at(r, exchange);
	const struct request_span top = {exchange,
					 x->caller.process ? REQUEST_CLIENT : REQUEST_SERVER};
	const struct request_span bottom = {exchange,
					    x->server.process ? REQUEST_SERVER : REQUEST_CLIENT};
	struct request_bounds b = request_brief_bounds(r, exchange);

	return (struct span_position){request_span_id(r, &bottom),
				      request_span_parent(r, &top),
				      b.begin_ns,
				      b.end_ns,
				      false,
				      0};
}

struct split request_server_time(const struct requests *r, u32 exchange)
{
	u32 threads;
	struct split time = request_span_time(r, exchange, true, &threads);
	s64 awaited = (s64)r->awaited[exchange].off_thread_ns;

	if (awaited > time.ns[SPLIT_off_thread])
		awaited = time.ns[SPLIT_off_thread];
	time.ns[SPLIT_off_thread] -= awaited;
	time.ns[SPLIT_network] += awaited;
	return time;
}

/* The time of the server; what the caller waited besides is off its threads. */
struct split request_brief_time(const struct requests *r, u32 exchange)
{
	const struct request_bounds b = request_brief_bounds(r, exchange);
	u32 threads;
	struct split time = exchange_at(r, exchange)->server.process
				    ? request_server_time(r, exchange)
				    : request_span_time(r, exchange, false, &threads);
	s64 rest = split_rest(&time, b.end_ns - b.begin_ns);

	if (rest > 0)
		time.ns[SPLIT_off_thread] += rest;
	return time;
}

#define UNREAD_LEAST_NS 20000 /* what is shorter is the way alone */
#define UNREAD_SHARE 20	      /* a part of the time that is worth a word */

/* Says how long the request waited at the server before it was read, or the answer. */
static void unread_note(struct span_builder *b, const struct requests *r, u32 exchange, bool answer)
{
	const struct request_bounds bounds = request_brief_bounds(r, exchange);
	u64 ns = request_unread_ns(r, exchange, answer);
	char text[UNITS_TEXT_BYTES];

	if (ns < UNREAD_LEAST_NS || ns < (bounds.end_ns - bounds.begin_ns) / UNREAD_SHARE)
		return;
	builder_string(b, answer ? "answer-unread" : "unread",
		       builder_copy(b, units_format_ns((s64)ns, text)));
}

/* Says what of an exchange is not as of most. */
static void brief_notes(struct span_builder *b, const struct requests *r, u32 exchange)
{
	const struct exchange *x = exchange_at(r, exchange);
	const struct edge *e = &r->edges[exchange];

	u32 ambiguous = r->connections.list.data[x->connection].ambiguous;

	if (r->hosts_count > 1)
		builder_string(b, "on", b->span.host);
	if (x->flags & EXCHANGE_IMPOSSIBLE)
		builder_string(b, "clocks", "contradict");
	if (ambiguous > 1 && x->caller.process && x->server.process)
		builder_string(b, "ends", builder_text(b, "1 of %u pairs", ambiguous));
	if (x->flags & EXCHANGE_STREAM)
		builder_string(b, "stream", "one way");
	else if (x->answer_from == x->answer_to)
		builder_string(b, "answer", "none");
	unread_note(b, r, exchange, false);
	unread_note(b, r, exchange, true);
	if (r->parents[exchange] == EDGE_ROOT || e->probability_ppm >= EDGE_SURE_PPM)
		return;
	b->span.name = builder_text(b, "? %s", b->span.name);
	builder_string(b, "by", edge_evidence_name(e->evidence));
	builder_string(b, "sure", builder_text(b, "%.0f%%", e->probability_ppm / PPM * 100));
}

const struct span *request_span_brief(struct span_builder *b, const struct requests *r,
				      u32 exchange)
{
	const struct exchange *x = exchange_at(r, exchange);
	const struct exchange_end *end = x->server.process ? &x->server : &x->caller;
	const struct request_bounds bounds = request_brief_bounds(r, exchange);
	const struct span_position at = request_brief_position(r, exchange);

	builder_reset(b);
	ids_fill(&b->span, at.id, at.parent);
	b->span.name = request_operation(r, exchange)->name;
	b->span.kind = x->server.process ? "server" : "client";
	bounds_fill(&b->span, &bounds);
	owner_fill(b, r, end->process, end->first_tid);
	b->span.time = request_brief_time(r, exchange);
	brief_notes(b, r, exchange);
	return span_done(b);
}
