/* SPDX-License-Identifier: Apache-2.0 */
#include "up/decider.h"

#include <string.h>

#include "map/fact/address.h"
#include "map/fact/gaps.h"
#include "map/span/filters.h"
#include "recorder/detail.h"
#include "up/board.h"

#define OWN_PROGRAM "fathom"
#define LEFT_LEAST_NS (DETAIL_BYTES_NS / 4) /* none stands for too many */

/* When a trace was under way, by its exchanges and spans of applications. */
struct extent {
	u64 begin_ns; /* of its first exchange */
	u64 end_ns;
	bool open; /* an exchange of it has no end yet */
};

static void exchange_extend(struct extent *e, const struct exchange *x)
{
	const u64 begins[] = {x->caller.process ? x->caller.first_ns : UINT64_MAX,
			      x->server.process ? x->server.first_ns : UINT64_MAX};
	const u64 ends[] = {x->caller.last_ns, x->server.last_ns};

	for (int i = 0; i < 2; i++) {
		if (begins[i] < e->begin_ns)
			e->begin_ns = begins[i];
		if (begins[i] != UINT64_MAX && begins[i] > e->end_ns)
			e->end_ns = begins[i];
		if (ends[i] > e->end_ns)
			e->end_ns = ends[i];
	}
	if (!(x->flags & (EXCHANGE_ONE_WAY | EXCHANGE_STREAM)) && !ends[0] && !ends[1])
		e->open = true;
}

static struct extent extent_of(const struct requests *r, const struct request_trace *t)
{
	struct extent e = {.begin_ns = UINT64_MAX};

	for (size_t i = t->first; i < t->end; i++) {
		const struct request_span *s = &r->spans.data[i];
		u64 end_ns;

		if (s->kind != REQUEST_APP) {
			exchange_extend(&e, &r->exchanges.data[s->of]);
			continue;
		}
		end_ns = request_bounds_of(r, s).end_ns; /* of an open one the end of the window */
		if (end_ns > e.end_ns)
			e.end_ns = end_ns;
	}
	return e;
}

/* Of this program, or of a part of it whose executable is not known. */
static bool name_is_own(const char *name)
{
	size_t n = strlen(OWN_PROGRAM);

	if (strncmp(name, OWN_PROGRAM, n) != 0)
		return false;
	for (int part = 0; part < PARTS; part++)
		if (name[n] == '-' && strcmp(name + n + 1, part_name(part)) == 0)
			return true;
	return !name[n];
}

/* Parts that were killed, and those of the run before, are known by their program alone. */
static bool process_is_own(const struct decider_input *in, u32 process)
{
	u32 pid = in->r->processes.list.data[process].pid;
	const char *service = process ? process_service(&in->r->processes, process) : NULL;

	if (service && name_is_own(service))
		return true;
	for (int i = 0; i < DECIDER_OWN_MAX; i++)
		if (process && in->own[i] && in->own[i] == pid)
			return true;
	return false;
}

/* Where an exchange is served, as a number; 0: not over TCP, or it is not known who serves. */
static u64 address_of(const struct requests *r, const struct exchange *x)
{
	const struct connection *c = &r->connections.list.data[x->connection];

	if (!c->port || c->guessed)
		return 0;
	return c->caller.socket ? address_hash(&c->caller.socket->socket, false)
				: address_hash(&c->server.socket->socket, true);
}

int decider_own_find(struct decider *d, struct decider_input *in)
{
	const struct exchange_list *list = &in->r->exchanges;
	int err = 0;

	if (d->own_addresses.count > DECIDER_ADDRESSES_MAX)
		map_free(&d->own_addresses);
	for (size_t i = 0; i < list->count && !err; i++) {
		const struct exchange *x = &list->data[i];
		u64 address = process_is_own(in, x->server.process) ? address_of(in->r, x) : 0;

		if (address)
			err = map_put(&d->own_addresses, address, PRESENT);
	}
	in->own_addresses = &d->own_addresses;
	return err;
}

bool decider_is_own(const struct decider_input *in, const struct exchange *x)
{
	u64 address = in->own_addresses ? address_of(in->r, x) : 0;

	return (address && map_get(in->own_addresses, address)) ||
	       process_is_own(in, x->caller.process) || process_is_own(in, x->server.process);
}

static bool was_decided(const struct decider *d, const struct requests *r,
			const struct request_trace *t, const struct extent *e)
{
	return e->begin_ns < d->undecided_ns || (!e->open && e->end_ns <= d->decided_ns) ||
	       decider_has(d, request_span_id(r, &r->spans.data[t->first]));
}

static bool has_all_bytes(const struct decider_input *in, const struct extent *e)
{
	u64 from_ns = e->begin_ns > DECIDER_LEAD_NS ? e->begin_ns - DECIDER_LEAD_NS : 0;
	u64 to_ns = e->open ? in->to_ns : e->end_ns;

	return !(partial_filters(in->p, from_ns, to_ns + 1) & FILTER_BYTES) &&
	       !gap_around(in->p, from_ns) && gaps_begin_after(in->p, from_ns) > to_ns;
}

int decider_choose(const struct decider *d, const struct decider_input *in, struct decision *out)
{
	u64 open_ns = in->open_ns ? in->open_ns : DECIDER_OPEN_NS;
	u64 to_ns = in->to_ns, ended_ns = to_ns > in->wait_ns ? to_ns - in->wait_ns : 0;
	int err = 0;

	out->decided_ns = ended_ns > d->decided_ns ? ended_ns : d->decided_ns;
	out->undecided_ns = ended_ns; /* what begins later cannot be decided */
	for (size_t i = 0; i < in->r->traces.count && !err; i++) {
		const struct request_trace *t = &in->r->traces.data[i];
		const struct extent e = extent_of(in->r, t);
		bool is_long = to_ns > open_ns && e.begin_ns < to_ns - open_ns;

		if (t->flags & TRACE_OF_STREAM ||
		    decider_is_own(in, &in->r->exchanges.data[t->exchange]) ||
		    was_decided(d, in->r, t, &e) || !has_all_bytes(in, &e))
			continue;
		if (is_long || (!e.open && e.end_ns <= ended_ns)) {
			err = vec_push(&out->traces, (u32)i);
			out->open += e.open || e.end_ns > ended_ns;
		} else if (e.begin_ns < out->undecided_ns) {
			out->undecided_ns = e.begin_ns;
		}
	}
	/* what begins later than all that is decided is looked at anew */
	if (out->undecided_ns < d->undecided_ns)
		out->undecided_ns = d->undecided_ns;
	return err;
}

u32 decider_stands_for(const struct decider_input *in, const struct request_trace *t)
{
	const struct extent e = extent_of(in->r, t);
	u64 taken_ns = DECIDER_LEAD_NS + (e.end_ns > e.begin_ns ? e.end_ns - e.begin_ns : 0);
	u64 left_ns = taken_ns < DETAIL_BYTES_NS ? DETAIL_BYTES_NS - taken_ns : 0;

	if (!(filters_at(in->p, e.begin_ns) & FILTER_BYTES_TURNS))
		return 0;
	if (left_ns < LEFT_LEAST_NS)
		left_ns = LEFT_LEAST_NS;
	return (u32)((DETAIL_BYTES_EVERY_NS + left_ns / 2) / left_ns);
}

static unsigned int digits(u64 n)
{
	return 64 - (unsigned int)__builtin_clzll(n | 1);
}

u64 decider_kind(const struct decider_input *in, const struct request_trace *t)
{
	const struct requests *r = in->r;
	const struct extent e = extent_of(r, t);
	u64 ns = e.end_ns > e.begin_ns ? e.end_ns - e.begin_ns : 0;
	bool fails = false, has_app = false;

	for (size_t i = t->first; i < t->end; i++) {
		const struct request_span *s = &r->spans.data[i];

		has_app |= s->kind == REQUEST_APP;
		fails |= s->kind != REQUEST_APP && request_is_unanswered(r, s->of);
	}
	return hash_pair(r->operations[r->exchanges.data[t->exchange].connection],
			 (u64)digits(ns) << 16 | digits(t->end - t->first) << 8 | fails << 1 |
				 has_app);
}

static int span_remember(struct decider *d, u64 id, u64 end_ns)
{
	int err;

	if (decider_has(d, id))
		return 0;
	err = map_put(&d->stored, id, PRESENT);
	return err ? err : vec_push(&d->spans, ((struct decider_span){id, end_ns}));
}

/* Forgets spans that ended before that time, and the oldest beyond the limit. */
static void spans_forget(struct decider *d, u64 window_ns)
{
	size_t over = d->spans.count > DECIDER_STORED_MAX ? d->spans.count - DECIDER_STORED_MAX : 0;
	size_t kept = 0;

	for (size_t i = 0; i < d->spans.count; i++) {
		const struct decider_span *s = &d->spans.data[i];

		if (i >= over && s->end_ns >= window_ns)
			d->spans.data[kept++] = *s;
		else
			map_remove(&d->stored, s->id);
	}
	d->spans.count = kept;
}

int decider_done(struct decider *d, const struct decider_input *in, const struct decision *done,
		 u64 window_ns)
{
	const struct requests *r = in->r;
	int err = 0;

	for (size_t i = 0; i < done->traces.count && !err; i++) {
		const struct request_trace *t = &r->traces.data[done->traces.data[i]];

		for (size_t n = t->first; n < t->end && !err; n++) {
			const struct request_span *s = &r->spans.data[n];

			if (s->kind != REQUEST_APP)
				err = span_remember(d, request_span_id(r, s),
						    request_bounds_of(r, s).end_ns);
		}
	}
	d->decided_ns = done->decided_ns;
	d->undecided_ns = done->undecided_ns;
	spans_forget(d, window_ns);
	return err;
}

void decider_free(struct decider *d)
{
	map_free(&d->stored);
	map_free(&d->own_addresses);
	vec_free(&d->spans);
}
