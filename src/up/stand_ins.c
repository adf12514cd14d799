/* SPDX-License-Identifier: Apache-2.0 */
#include "up/stand_ins.h"

#include <errno.h>

#include "request/nodes.h"

#define LEVELS_MOST 64 /* spans above each other that are looked at */

struct trace_id trace_of_bytes(const u8 id[16])
{
	return (struct trace_id){span_number(id), span_number(id + 8)};
}

/* ---- spans that had the thread ---- */

/* The span that its program recorded; NULL: only its context was seen. */
static const struct app_span *app_recorded(const struct requests *r, u32 app)
{
	const struct partial *p = r->hosts[r->apps.list.data[app].host].p;
	const struct app_span *span = node_app(p, request_app_node(&r->apps, app));

	return span && (span->begun || span->ended) ? span : NULL;
}

/* The outermost span of the same process above a span that was sent. */
static const struct sent_span *sent_top(const struct sent *sent, const struct sent_span *span)
{
	for (int level = 0; level < LEVELS_MOST; level++) {
		const struct sent_span *above = sent_by_ids(sent, span->trace, span->parent_id);

		if (!above || above->pid != span->pid || above->kind == RECEIVED_CLIENT)
			break;
		span = above;
	}
	return span;
}

static struct stand_in of_sent(const struct sent_span *span)
{
	return (struct stand_in){.trace = span->trace,
				 .span_id = span->span_id,
				 .parent_id = span->parent_id,
				 .begin_ns = span->begin_ns,
				 .end_ns = span->end_ns};
}

/* *kind gets an enum received_kind. False: nobody sent the span. */
static bool of_app(const struct stand_ins *s, u32 app, bool server, struct stand_in *out, u8 *kind)
{
	const struct node *node = request_app_node(&s->r->apps, app);
	const struct app_span *span = app_recorded(s->r, app);
	const struct sent_span *sent;

	if (span) {
		*out = (struct stand_in){.trace = trace_of_bytes(node->trace),
					 .span_id = node->id,
					 .parent_id = span_number((const u8 *)&span->parent),
					 .begin_ns = node->begin_ns,
					 .end_ns = node->end_ns};
		*kind = span->kind < 5 ? (u8)(RECEIVED_INTERNAL + span->kind) : RECEIVED_INTERNAL;
	} else {
		sent = s->sent ? sent_by_ids(s->sent, trace_of_bytes(node->trace), node->id) : NULL;
		if (!sent)
			return false;
		sent = server ? sent_top(s->sent, sent) : sent;
		*out = of_sent(sent);
		*kind = sent->kind;
	}
	out->is_sure = true;
	return true;
}

/* Whether a span has at least half of the time of an end. */
static bool covers_half(const struct stand_in *in, const struct request_bounds *b)
{
	u64 from_ns = in->begin_ns > b->begin_ns ? in->begin_ns : b->begin_ns;
	u64 to_ns = in->end_ns < b->end_ns ? in->end_ns : b->end_ns;

	return to_ns >= from_ns && 2 * (to_ns - from_ns) >= b->end_ns - b->begin_ns;
}

static struct stand_in by_time(struct stand_ins *s, u32 exchange, bool server)
{
	const struct exchange *x = &s->r->exchanges.data[exchange];
	const struct exchange_end *end = server ? &x->server : &x->caller;
	const struct request_bounds b = request_span_bounds(s->r, exchange, server);
	const struct sent_query query = {.pid = s->r->processes.list.data[end->process].pid,
					 .tid = server ? end->last_tid : end->first_tid,
					 .begin_ns = b.begin_ns,
					 .end_ns = b.end_ns,
					 .server = server};
	const struct sent_span *found = s->sent && !b.end_soft ? sent_find(s->sent, &query) : NULL;
	struct stand_in in = {0};

	if (!found)
		return in;
	sent_mark(s->sent, found);
	in = of_sent(found);
	in.counts = true;
	return in;
}

/* ---- both ends ---- */

static struct stand_in server_find(struct stand_ins *s, u32 exchange)
{
	uintptr_t app = (uintptr_t)map_get(&s->children, exchange + 1);
	const struct request_bounds b = request_span_bounds(s->r, exchange, true);
	struct stand_in in = {0};
	u8 kind;

	if (!app)
		return by_time(s, exchange, true);
	if (!of_app(s, (u32)app - 1, true, &in, &kind))
		return in;
	in.counts = kind == RECEIVED_SERVER || kind == RECEIVED_CONSUMER ||
		    (kind == RECEIVED_INTERNAL && covers_half(&in, &b));
	return in;
}

/* The parent that the called application names, if the calling process sent it. */
static const struct sent_span *parent_sent(const struct stand_ins *s, u32 pid,
					   const struct stand_in *server)
{
	const struct sent_span *above = s->sent && server->parent_id
						? sent_by_ids(s->sent, server->trace,
							      server->parent_id)
						: NULL;

	return above && above->pid == pid ? above : NULL;
}

static bool is_call(u8 kind)
{
	return kind == RECEIVED_CLIENT || kind == RECEIVED_PRODUCER;
}

static struct stand_in client_find(struct stand_ins *s, u32 exchange, const struct stand_in *server)
{
	const struct exchange *x = &s->r->exchanges.data[exchange];
	u32 above = s->r->node_parents[node_of_exchange(exchange, false)];
	const struct request_span by = above == NO_NODE ? (struct request_span){0}
							: node_span(s->r, above);
	const struct sent_span *sent =
		parent_sent(s, s->r->processes.list.data[x->caller.process].pid, server);
	struct stand_in in = {0};
	u8 kind;

	if (sent) {
		in = of_sent(sent);
		in.is_sure = true;
		in.counts = is_call(sent->kind);
		sent_mark(s->sent, sent);
		return in;
	}
	if (above == NO_NODE || by.kind != REQUEST_APP)
		return by_time(s, exchange, false);
	if (of_app(s, by.of, false, &in, &kind))
		in.counts = is_call(kind);
	return in;
}

/* Whether the parent of the called span is the span that called, or one above it. */
static bool call_is_told(const struct stand_ins *s, u32 exchange, const struct stand_in_pair *pair)
{
	u32 above = s->r->node_parents[node_of_exchange(exchange, false)];
	struct request_span by;

	if (!pair->server.parent_id || !pair->client.span_id)
		return false;
	if (pair->server.parent_id == pair->client.span_id)
		return true;
	by = above == NO_NODE ? (struct request_span){0} : node_span(s->r, above);
	if (above == NO_NODE || by.kind != REQUEST_APP)
		return false;
	for (u32 app = by.of, level = 0; app != NO_APP && level < LEVELS_MOST; level++) {
		if (request_app_node(&s->r->apps, app)->id == pair->server.parent_id)
			return true;
		app = s->r->apps.list.data[app].above;
	}
	return false;
}

static int pair_find(struct stand_ins *s, u32 exchange)
{
	const struct exchange *x = &s->r->exchanges.data[exchange];
	struct stand_in_pair pair = {0};

	if (map_get(&s->numbers, exchange + 1))
		return 0;
	if (x->server.process)
		pair.server = server_find(s, exchange);
	if (x->caller.process)
		pair.client = client_find(s, exchange, &pair.server);
	pair.call_is_told = call_is_told(s, exchange, &pair);
	if (vec_push(&s->list, pair))
		return -ENOMEM;
	return map_put(&s->numbers, exchange + 1, (void *)(uintptr_t)s->list.count);
}

static int children_find(struct stand_ins *s, const struct request_trace *t)
{
	int err = 0;

	for (size_t i = t->first; i < t->end && !err; i++) {
		const struct request_span *of = &s->r->spans.data[i];
		u32 above = of->kind == REQUEST_APP ? s->r->node_parents[node_of_app(s->r, of->of)]
						    : NO_NODE;
		struct request_span by;

		if (above == NO_NODE)
			continue;
		by = node_span(s->r, above);
		if (by.kind == REQUEST_SERVER && !map_get(&s->children, by.of + 1))
			err = map_put(&s->children, by.of + 1, (void *)(uintptr_t)(of->of + 1));
	}
	return err;
}

int stand_ins_find(struct stand_ins *s, const struct request_trace *t)
{
	int err = children_find(s, t);

	for (size_t i = t->first; i < t->end && !err; i++) {
		const struct request_span *of = &s->r->spans.data[i];

		if (of->kind != REQUEST_APP)
			err = pair_find(s, of->of);
	}
	return err;
}

void stand_ins_free(struct stand_ins *s)
{
	map_free(&s->children);
	map_free(&s->numbers);
	vec_free(&s->list);
}

const struct stand_in_pair *stand_ins_of(const struct stand_ins *s, u32 exchange)
{
	uintptr_t number = (uintptr_t)map_get(&s->numbers, exchange + 1);

	return &s->list.data[number - 1];
}
