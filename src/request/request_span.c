/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of exchanges: ids, bounds, times and owners. */
#include <string.h>

#include "request/byte_ranges.h"
#include "request/nodes.h"

static const struct exchange *exchange_at(const struct requests *r, u32 exchange)
{
	return &r->exchanges.data[exchange];
}

/* ---- ids ---- */

u64 request_span_id(const struct requests *r, const struct request_span *s)
{
	const struct exchange *x;
	u64 id;

	if (s->kind == REQUEST_APP)
		return request_app_node(&r->apps, s->of)->id;
	x = exchange_at(r, s->of);
	/* its own begin tells it from others at this place: what is before it may be gone */
	id = hash_pair(r->connections.list.data[x->connection].place, x->from);
	id = hash_pair(id, s->kind == REQUEST_SERVER ? x->server.first_ns : x->caller.first_ns);
	id = hash_pair(hash_pair(id, x->flags & EXCHANGE_STREAM ? 2 : 0), s->kind);
	return id ? id : 1;
}

static u32 node_number(const struct requests *r, const struct request_span *s)
{
	return s->kind == REQUEST_APP ? node_of_app(r, s->of)
				      : node_of_exchange(s->of, s->kind == REQUEST_SERVER);
}

u64 request_span_parent(const struct requests *r, const struct request_span *s)
{
	u32 parent = r->node_parents[node_number(r, s)];
	struct request_span above;

	if (parent == NO_NODE)
		return 0;
	above = node_span(r, parent);
	return request_span_id(r, &above);
}

void request_trace_id(const struct requests *r, const struct request_span *root, u8 id[16])
{
	u64 span = request_span_id(r, root);
	u64 halves[2] = {__builtin_bswap64(hash_pair(span, 1)),
			 __builtin_bswap64(hash_pair(span, 2))};

	memcpy(id, halves, sizeof(halves));
	if (root->kind == REQUEST_APP)
		memcpy(id, request_app_node(&r->apps, root->of)->trace, sizeof(halves));
}

/* ---- bounds ---- */

/* The last instant that is known of an end without an end. */
static u64 last_seen(const struct requests *r, const struct exchange *x, bool server)
{
	const struct exchange_end *end = server ? &x->server : &x->caller;
	const struct request_host *host = &r->hosts[r->processes.list.data[end->process].host];
	u64 to_ns = host->p->to_ns;

	return to_ns > end->first_ns ? to_ns : end->first_ns;
}

struct request_bounds request_span_bounds(const struct requests *r, u32 exchange, bool server)
{
	const struct exchange *x = exchange_at(r, exchange);
	const struct exchange_end *end = server ? &x->server : &x->caller;
	struct request_bounds b = {.begin_ns = end->first_ns,
				   .end_ns = end->last_ns,
				   .begin_soft = x->flags & EXCHANGE_SOFT_BEGIN};

	if (x->flags & EXCHANGE_STREAM) {
		b.end_ns = b.end_ns ? b.end_ns : b.begin_ns;
		return b;
	}
	b.end_soft = !b.end_ns || x->answer_from == x->answer_to;
	if (!b.end_ns)
		b.end_ns = last_seen(r, x, server);
	if (b.end_ns < b.begin_ns)
		b.end_ns = b.begin_ns;
	return b;
}

struct request_bounds request_bounds_of(const struct requests *r, const struct request_span *s)
{
	const struct node *n;

	if (s->kind != REQUEST_APP)
		return request_span_bounds(r, s->of, s->kind == REQUEST_SERVER);
	n = request_app_node(&r->apps, s->of);
	return (struct request_bounds){n->begin_ns, n->end_ns, n->begin_soft, n->end_soft};
}

bool request_is_unanswered(const struct requests *r, u32 exchange)
{
	const struct exchange *x = exchange_at(r, exchange);
	const struct exchange_end *end = x->caller.process ? &x->caller : &x->server;
	u64 to_ns = r->hosts[r->processes.list.data[end->process].host].p->to_ns;

	if (x->flags & (EXCHANGE_ONE_WAY | EXCHANGE_STREAM | EXCHANGE_CUT))
		return false;
	return x->answer_from == x->answer_to && end->first_ns + UNANSWERED_NS < to_ns;
}

/* ---- times ---- */

static struct split server_time(const struct requests *r, u32 exchange, u32 *threads)
{
	const struct exchange *x = exchange_at(r, exchange);
	const struct request_bounds b = request_span_bounds(r, exchange, true);
	u32 host = r->processes.list.data[x->server.process].host;
	const struct stint *first;
	size_t count = stints_of(&r->stints, exchange, &first);
	struct split sum = {0};
	s64 rest;

	*threads = 1;
	for (size_t i = 0; i < count; i++) {
		struct split s = thread_times_split(&r->times[host], first[i].tid, first[i].from_ns,
						    first[i].to_ns);

		split_add(&sum, &s);
		if (i && first[i].tid != first[i - 1].tid)
			++*threads;
	}
	rest = split_rest(&sum, b.end_ns - b.begin_ns);
	if (rest >= 0) { /* one thread after the other */
		sum.ns[SPLIT_off_thread] += rest;
		*threads = 1;
	} else if (*threads == 1) {
		*threads = 2;
	}
	return sum;
}

static struct split client_time(const struct requests *r, u32 exchange)
{
	const struct exchange *x = exchange_at(r, exchange);
	const struct request_bounds b = request_span_bounds(r, exchange, false);
	u32 host = r->processes.list.data[x->caller.process].host;
	struct split off = {0};

	if (r->stints.waited[exchange] && x->caller.first_tid == x->caller.last_tid)
		return thread_times_split(&r->times[host], x->caller.first_tid, b.begin_ns,
					  b.end_ns);
	off.ns[SPLIT_off_thread] = (s64)(b.end_ns - b.begin_ns);
	return off;
}

struct split request_span_time(const struct requests *r, u32 exchange, bool server, u32 *threads)
{
	*threads = 1;
	return server ? server_time(r, exchange, threads) : client_time(r, exchange);
}

u64 request_unread_ns(const struct requests *r, u32 exchange, bool answer)
{
	const struct exchange *x = exchange_at(r, exchange);
	const struct connection *c = &r->connections.list.data[x->connection];
	const struct socket_end *from = answer ? &c->server : &c->caller;
	const struct socket_end *to = answer ? &c->caller : &c->server;
	u64 end = answer ? x->answer_to : x->to, sent_ns, read_ns;
	size_t sent, received;
	struct clock_interval clocks;

	if (!x->caller.process || !x->server.process || x->flags & EXCHANGE_STREAM ||
	    (answer && x->answer_to == x->answer_from))
		return 0;
	sent = range_completing(&from->sent, end);
	received = range_completing(&to->received, end);
	if (sent == NO_RANGE || received == NO_RANGE)
		return 0;
	sent_ns = from->sent.data[sent].time_ns;
	read_ns = to->received.data[received].time_ns;
	if (!clock_offset_at(&r->offsets, to->host, from->host, read_ns, &clocks))
		return 0;
	read_ns += (u64)clock_interval_middle(&clocks);
	return read_ns > sent_ns ? read_ns - sent_ns : 0;
}

/* ---- owners ---- */

const char *request_span_service(const struct requests *r, u32 exchange, bool server)
{
	const struct exchange *x = exchange_at(r, exchange);

	return process_service(&r->processes, server ? x->server.process : x->caller.process);
}

const struct request_operation *request_operation(const struct requests *r, u32 exchange)
{
	return &r->operation_list.data[r->operations[exchange_at(r, exchange)->connection]];
}
