/* SPDX-License-Identifier: Apache-2.0 */
#include "request/shifts.h"

#include <errno.h>
#include <stdlib.h>

#include "request/messages.h"
#include "request/nodes.h"

static u32 host_of_process(const struct requests *r, u32 process)
{
	return r->processes.list.data[process].host;
}

/* ---- what cannot be ---- */

/* An instant by the clock of another host: between these two. */
static bool instant_at(const struct requests *r, u32 from, u32 to, u64 time_ns, u64 at[2])
{
	struct clock_interval i;

	if (!clock_offset_at(&r->offsets, from, to, time_ns, &i))
		return false;
	at[0] = time_ns + (u64)i.min_ns;
	at[1] = time_ns + (u64)i.max_ns;
	return true;
}

/* Whether something was received on `to` before the call on `from` that sent it began. */
static bool came_before(const struct requests *r, const struct message *m, u32 tid)
{
	u64 begun_ns = thread_times_sending(&r->times[m->from], tid, m->sent_ns), at[2];

	return begun_ns && m->received_ns && instant_at(r, m->to, m->from, m->received_ns, at) &&
	       at[1] < begun_ns;
}

static bool is_impossible(const struct requests *r, const struct exchange *x)
{
	u32 caller = host_of_process(r, x->caller.process);
	u32 server = host_of_process(r, x->server.process);
	const struct message forth = {caller, server, x->caller.first_ns, x->server.first_ns};
	const struct message back = {server, caller, x->server.last_ns, x->caller.last_ns};

	if (came_before(r, &forth, x->caller.first_tid))
		return true;
	return x->answer_to > x->answer_from && x->server.last_tid &&
	       came_before(r, &back, x->server.last_tid);
}

int shifts_begin(struct requests *r)
{
	int err;

	if (r->hosts_count < 2)
		return 0;
	err = clock_offsets_find(&r->offsets, &r->connections, r->times);
	for (size_t i = 0; i < r->exchanges.count && !err; i++) {
		struct exchange *x = &r->exchanges.data[i];

		if (!x->caller.process || !x->server.process || !is_impossible(r, x))
			continue;
		x->flags |= EXCHANGE_IMPOSSIBLE;
		r->impossible++;
	}
	r->shifts = err ? NULL : calloc(nodes_count(r) + 1, sizeof(*r->shifts));
	return err ? err : r->shifts ? 0 : -ENOMEM;
}

/* ---- shifts ---- */

static u32 host_of_node(const struct requests *r, u32 node)
{
	const struct request_span s = node_span(r, node);
	const struct exchange *x;

	if (s.kind == REQUEST_APP)
		return r->apps.list.data[s.of].host;
	x = &r->exchanges.data[s.of];
	return host_of_process(r, s.kind == REQUEST_SERVER ? x->server.process : x->caller.process);
}

/* How far one time can be moved within another one; to its middle, if it is longer. */
static struct clock_interval within(const struct request_bounds *of,
				    const struct request_bounds *in)
{
	s64 first = (s64)(in->begin_ns - of->begin_ns), last = (s64)(in->end_ns - of->end_ns);
	s64 middle;

	if (first <= last)
		return (struct clock_interval){first, last};
	middle = clock_interval_middle(&(struct clock_interval){last, first});
	return (struct clock_interval){middle, middle};
}

struct clock_interval shift_of_exchange(const struct requests *r, u32 exchange)
{
	const struct exchange *x = &r->exchanges.data[exchange];
	u32 host = host_of_process(r, x->server.process);
	u32 other = host_of_process(r, x->caller.process);
	struct request_bounds server, client;
	struct clock_interval i = {0, 0};

	if (host == other)
		return i;
	server = request_span_bounds(r, exchange, true);
	if (clock_offset_at(&r->offsets, host, other, server.begin_ns, &i))
		return i;
	client = request_span_bounds(r, exchange, false);
	return within(&server, &client);
}

/* From the clock of a node to that of its parent on another host. */
static s64 shift_between(const struct requests *r, u32 node, u32 parent)
{
	const struct request_span below = node_span(r, node), above = node_span(r, parent);
	u32 host = host_of_node(r, node), other = host_of_node(r, parent);
	struct clock_interval i;

	if (below.kind == REQUEST_SERVER && above.kind == REQUEST_CLIENT && above.of == below.of) {
		i = shift_of_exchange(r, below.of);
		return clock_interval_middle(&i);
	}
	if (clock_offset_at(&r->offsets, host, other, request_bounds_of(r, &below).begin_ns, &i))
		return clock_interval_middle(&i);
	return (s64)(r->hosts[host].unix_ns - r->hosts[other].unix_ns);
}

void shift_fill(struct requests *r, u32 node)
{
	u32 parent = r->node_parents[node];

	if (!r->shifts || parent == NO_NODE)
		return;
	r->shifts[node] = r->shifts[parent];
	if (host_of_node(r, node) != host_of_node(r, parent))
		r->shifts[node] += shift_between(r, node, parent);
}

s64 request_shift(const struct requests *r, const struct request_span *s)
{
	if (!r->shifts)
		return 0;
	return r->shifts[s->kind == REQUEST_APP
				 ? node_of_app(r, s->of)
				 : node_of_exchange(s->of, s->kind == REQUEST_SERVER)];
}
