/* SPDX-License-Identifier: Apache-2.0 */
#include "up/spans_request.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "map/fact/query.h"
#include "request/nodes.h"
#include "up/spans_internal.h"
#include "up/stand_ins.h"

#define ATTRIBUTES_MOST (30 + SPLIT_PARTS_COUNT)
#define PPM 1e6

/* Where a span of the trace stands. */
struct place {
	struct trace_id trace;
	u64 parent_id;
};

/* A span of the batch that has work of its own in the kernel. */
struct worked {
	size_t at;
	struct request_span of;
	enum chosen chosen;
};

struct adding {
	struct spans *s;
	const struct requests *r;
	u32 stands_for, times; /* of struct request_stored */
	struct trace_id trace;
	struct stand_ins stand_ins;
	struct map numbers; /* node + 1 -> number in `places` + 1 */
	VEC(struct place) places;
	VEC(struct worked) worked;
	bool is_notable; /* one of them is slow or in error */
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

/* ---- traces ---- */

static const struct stand_in *stand_in_of(const struct adding *a, const struct request_span *of)
{
	const struct stand_in_pair *pair = stand_ins_of(&a->stand_ins, of->of);

	return of->kind == REQUEST_SERVER ? &pair->server : &pair->client;
}

/* The trace of the first span of an application; without any, that of the request. */
static struct trace_id trace_choose(const struct adding *a, const struct request_trace *t)
{
	for (size_t i = t->first; i < t->end; i++) {
		const struct request_span *s = &a->r->spans.data[i];

		if (s->kind == REQUEST_APP)
			return trace_of_bytes(request_app_node(&a->r->apps, s->of)->trace);
		if (stand_in_of(a, s)->span_id)
			return stand_in_of(a, s)->trace;
	}
	return trace_of_bytes(t->id);
}

static bool is_same(struct trace_id a, struct trace_id b)
{
	return a.high == b.high && a.low == b.low;
}

static const struct place *place_of(const struct adding *a, u32 node)
{
	uintptr_t number = (uintptr_t)map_get(&a->numbers, node + 1);

	return number ? &a->places.data[number - 1] : NULL;
}

/* Below the span by which requests found it, or below that one's application, if it ran then. */
static struct place place_below(const struct adding *a, u32 above, u64 begin_ns)
{
	const struct request_span by = node_span(a->r, above);
	const struct place *place = place_of(a, above);
	struct place to = {a->trace, request_span_id(a->r, &by)};
	const struct stand_in *app;

	if (by.kind == REQUEST_APP) {
		to.trace = trace_of_bytes(request_app_node(&a->r->apps, by.of)->trace);
		return to;
	}
	if (place)
		to.trace = place->trace;
	app = place && by.kind == REQUEST_SERVER ? stand_in_of(a, &by) : NULL;
	if (app && app->span_id && is_same(app->trace, to.trace) && app->begin_ns <= begin_ns &&
	    begin_ns <= app->end_ns)
		to.parent_id = app->span_id;
	return to;
}

/* Where a root stands: its application may name a parent, which ran elsewhere. */
static struct place place_root(const struct adding *a, const struct stand_in *server)
{
	if (!server->span_id)
		return (struct place){a->trace, 0};
	return (struct place){server->trace, server->parent_id};
}

static struct place place_find(const struct adding *a, const struct request_span *of)
{
	const struct stand_in_pair *pair = stand_ins_of(&a->stand_ins, of->of);
	bool server = of->kind == REQUEST_SERVER;
	u32 above = a->r->node_parents[node_of_exchange(of->of, server)];
	struct place place;

	if (!server && pair->client.span_id)
		return (struct place){pair->client.trace, pair->client.span_id};
	if (above == NO_NODE)
		return place_root(a, &pair->server);
	place = place_below(a, above, request_bounds_of(a->r, of).begin_ns);
	/* its own trace, if that tells more than that it is a trace */
	if (server && pair->server.parent_id && !is_same(pair->server.trace, place.trace))
		return place_root(a, &pair->server);
	return place;
}

static int place_add(struct adding *a, const struct request_span *of)
{
	u32 node = node_of_exchange(of->of, of->kind == REQUEST_SERVER);
	const struct place place = place_find(a, of);

	if (vec_push(&a->places, place))
		return -ENOMEM;
	return map_put(&a->numbers, node + 1, (void *)(uintptr_t)a->places.count);
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
	} else if (!server && stand_in_of(a, of)->is_sure) {
		evidence_add(list, EDGE_GIVEN, 1);
	} else if (r->node_parents[node_of_exchange(of->of, server)] == NO_NODE) {
		return;
	} else if (r->parents[of->of] == EDGE_ROOT) { /* the span of an application called */
		evidence_add(list, EDGE_GIVEN, 1);
	} else {
		evidence_add(list, e->evidence, e->probability_ppm / PPM);
		list_number(list, "edge.candidates", e->candidates);
	}
}

static void id_add(struct adding *a, struct list *list, const char *key, u64 id)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	text_add(a->s, list, key, text);
}

/* The span of the application below the server's. */
static u64 child_of(const struct adding *a, u32 exchange, struct trace_id trace)
{
	const struct stand_in *in = &stand_ins_of(&a->stand_ins, exchange)->server;
	uintptr_t app = (uintptr_t)map_get(&a->stand_ins.children, exchange + 1);

	if (in->span_id)
		return is_same(in->trace, trace) ? in->span_id : 0;
	return app ? request_app_node(&a->r->apps, (u32)app - 1)->id : 0;
}

/* Which spans of applications tell of the same. */
static void stand_ins_add(struct adding *a, struct list *list, const struct request_span *of,
			  struct trace_id trace)
{
	const struct stand_in_pair *pair = stand_ins_of(&a->stand_ins, of->of);
	const struct stand_in *in = stand_in_of(a, of);
	u64 child = of->kind == REQUEST_SERVER ? child_of(a, of->of, trace) : 0;

	if (child)
		id_add(a, list, "fathom.child", child);
	if (in->counts)
		id_add(a, list, "fathom.counted_as", in->span_id);
	if (of->kind == REQUEST_SERVER && pair->call_is_told)
		id_add(a, list, "fathom.call_counted_as", pair->client.span_id);
}

/* ---- what threads did in the kernel ---- */

/* Where a span of an application tells of the same, or is below it, that one has it. */
static bool has_own_work(const struct adding *a, const struct request_span *of,
			 struct trace_id trace)
{
	if (stand_in_of(a, of)->span_id)
		return false;
	return of->kind != REQUEST_SERVER || !child_of(a, of->of, trace);
}

static struct handed_span handed_of(const struct adding *a, const struct request_span *of)
{
	const struct request_process *p = &a->r->processes.list.data[end_of(a, of)->process];
	const struct partial *partial = a->r->hosts[p->host].p;

	return (struct handed_span){.partial = partial,
				    .running = partial,
				    .children = a->s->work.list.data,
				    .children_count = a->s->work.list.count,
				    .more_count = a->s->work.more_count,
				    .more_ns = a->s->work.more_ns};
}

static int work_rows_add(struct adding *a, const struct request_span *of, struct list *list)
{
	int err = exchange_work_find(&a->s->work, a->r, of);
	struct handed_span handed;

	if (err || !a->s->work.list.count)
		return err;
	handed = handed_of(a, of);
	return kernel_rows_add(a->s, &handed, list);
}

/* Of the last span of the batch. */
static int work_choose(struct adding *a, const struct request_span *of)
{
	u32 pid = a->r->processes.list.data[end_of(a, of)->process].pid;
	struct worked worked = {.at = a->s->batch.count - 1, .of = *of};

	worked.chosen = span_choose(a->s, pid, a->times, a->s->work.list.count > 0);
	a->is_notable |= worked.chosen == CHOSEN_ERROR || worked.chosen == CHOSEN_SLOW;
	return a->s->work.list.count || worked.chosen ? vec_push(&a->worked, worked) : 0;
}

/* Adds the kernel spans of chosen spans behind those of the request. */
static int worked_add(struct adding *a)
{
	int err = 0;

	for (size_t i = 0; i < a->worked.count && !err; i++) {
		const struct worked *worked = &a->worked.data[i];
		struct spans_waiting w = {.at = worked->at, .chosen = worked->chosen};
		struct handed_span handed;

		if (a->is_notable && w.chosen == CHOSEN_NOT)
			w.chosen = CHOSEN_TRACE;
		if (!w.chosen)
			continue;
		err = exchange_work_find(&a->s->work, a->r, &worked->of);
		if (err)
			return err;
		handed = handed_of(a, &worked->of);
		w.attributes = (struct attribute *)a->s->batch.data[w.at].attributes.data;
		w.count = handed.children_count;
		w.more_count = handed.more_count;
		err = children_know(a->s, &handed);
		err = err ? err : chosen_children_add(a->s, &w, handed.children);
	}
	return err;
}

/* ---- the span ---- */

static int attributes_make(struct adding *a, const struct request_span *of,
			   const struct request_bounds *bounds, struct received_span *to)
{
	bool server = of->kind == REQUEST_SERVER;
	u32 threads = 1;
	const struct split split = request_span_time(a->r, of->of, server, &threads);
	struct list list;
	int err = 0;

	if (list_make(a->s, &list, ATTRIBUTES_MOST))
		return -ENOMEM;
	list_number(&list, "fathom.version", a->s->chunk->seq + 1);
	if (a->stands_for)
		list_number(&list, "fathom.stands_for", a->stands_for);
	list_number(&list, "thread.id", end_of(a, of)->first_tid);
	connection_add(a, &list, of);
	ranges_add(&list, exchange_at(a, of));
	edge_add(a, &list, of);
	unread_add(a, &list, of);
	stand_ins_add(a, &list, of, to->trace);
	if (threads > 1)
		list_number(&list, "fathom.threads", threads);
	if (bounds->begin_soft)
		list_text(&list, "fathom.begin", "soft");
	if (bounds->end_soft)
		list_text(&list, "fathom.end", "soft");
	split_add_to(&list, &split);
	if (has_own_work(a, of, to->trace))
		err = work_rows_add(a, of, &list);
	to->attributes = list_view(&list);
	return err;
}

static int span_add(struct adding *a, const struct request_span *of)
{
	const struct request_bounds bounds = request_bounds_of(a->r, of);
	const struct place *place = place_of(a,
					     node_of_exchange(of->of, of->kind == REQUEST_SERVER));
	struct received_span to = {.trace = place->trace,
				   .span_id = request_span_id(a->r, of),
				   .parent_id = place->parent_id,
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
	err = err ? err : vec_push(&a->s->batch, to);
	if (err || !a->s->chooser || !has_own_work(a, of, to.trace))
		return err;
	return work_choose(a, of);
}

static int trace_add(struct adding *a, const struct request_trace *t,
		     const struct request_stored *stored)
{
	int err = 0;

	for (size_t i = t->first; i < t->end && !err; i++) {
		const struct request_span *of = &a->r->spans.data[i];

		if (of->kind == REQUEST_APP)
			continue;
		if (stored->input && decider_is_own(stored->input, exchange_at(a, of)))
			continue;
		err = place_add(a, of); /* after the one above it */
		if (!err && !map_get(stored->spans, request_span_id(a->r, of)))
			err = span_add(a, of);
	}
	return err ? err : worked_add(a);
}

int spans_add_request(struct spans *s, const struct requests *r, const struct request_trace *t,
		      const struct request_stored *stored)
{
	struct adding a = {.s = s,
			   .r = r,
			   .stands_for = stored->stands_for,
			   .times = stored->times,
			   .stand_ins = {.r = r, .sent = stored->sent}};
	int err = stand_ins_find(&a.stand_ins, t);

	err = err ? err : exchange_work_begin(&s->work, r, t);
	if (!err) {
		a.trace = trace_choose(&a, t);
		err = trace_add(&a, t, stored);
	}
	stand_ins_free(&a.stand_ins);
	map_free(&a.numbers);
	vec_free(&a.places);
	vec_free(&a.worked);
	return err;
}
