/* SPDX-License-Identifier: Apache-2.0 */
#include "request/exchanges.h"

#include <errno.h>

#include "base/order.h"
#include "request/byte_ranges.h"
#include "request/send_habits.h"

/* A request that is being put together. */
struct part {
	struct exchange x;
	size_t whole;		/* the receive of the serving end that completed it, or NO_RANGE */
	u64 whole_ns;		/* its time */
	u64 first_ns;		/* of the caller's sends */
	u64 last_ns;		/* likewise */
	u32 first_tid;		/* of the caller */
	u32 whole_tid;		/* of the serving end */
	u32 light, whole_light; /* numbers of the light threads of both */
	u64 answered_ns; /* when the serving end sent the last byte of the answer; 0: it did not */
	u32 answered_tid;
};

/* The state of one connection. */
struct joining {
	const struct connection *c;
	const struct connections *connections;
	struct processes *processes;
	struct exchange_list *out;
	struct exchange_details *details;
	u32 connection;
	VEC(struct part) parts;
	struct send_habits habits;
	bool joins; /* sends that are read together are one request */
};

/* ---- requests of the caller's sends ---- */

/*
 * Whether a send begins a request, and how that is known. Where records of an answer, or of the
 * receipt of what was sent before, are missing, it does: nothing is joined across a loss.
 */
static bool send_begins(const struct joining *j, const struct part *before, const struct part *next,
			u8 *boundary)
{
	const struct connection *c = j->c;
	const struct byte_range *read;

	*boundary = EXCHANGE_BY_TURN;
	if (any_between(&c->caller.received, before->last_ns, next->first_ns) ||
	    hole_after(&c->caller.received, before->last_ns))
		return true;
	if (before->whole == NO_RANGE)
		return next->whole != NO_RANGE;
	if (hole_after(&c->server.sent, before->whole_ns))
		return true;
	if (next->whole != before->whole)
		return any_between(&c->server.sent, before->whole_ns, next->whole_ns);
	if (j->joins)
		return false;
	read = &c->server.received.data[before->whole];
	*boundary = EXCHANGE_BY_SENDS;
	return range_borders(&c->caller.sent, read->from, false) &&
	       range_borders(&c->caller.sent, read->to, true);
}

/* A request of one send. */
static struct part part_of_send(const struct joining *j, const struct byte_range *send)
{
	const struct byte_ranges *reads = &j->c->server.received;
	struct part part = {.x = {.from = send->from, .to = send->to, .connection = j->connection},
			    .whole = range_completing(reads, send->to),
			    .whole_ns = UINT64_MAX,
			    .first_ns = send->time_ns,
			    .last_ns = send->time_ns,
			    .first_tid = send->tid,
			    .light = send->light};

	if (send->hole)
		part.x.flags |= EXCHANGE_SOFT_BEGIN;
	if (part.whole != NO_RANGE) {
		part.whole_ns = reads->data[part.whole].time_ns;
		part.whole_tid = reads->data[part.whole].tid;
		part.whole_light = reads->data[part.whole].light;
	}
	return part;
}

static void part_extend(struct part *part, const struct part *by)
{
	part->x.to = by->x.to;
	part->last_ns = by->last_ns;
	part->whole = by->whole;
	part->whole_ns = by->whole_ns;
	part->whole_tid = by->whole_tid;
	part->whole_light = by->whole_light;
}

/* Makes the requests of what the caller sent. 0 or -ENOMEM. */
static int parts_of_sends(struct joining *j)
{
	const struct byte_ranges *sends = &j->c->caller.sent;
	int err = 0;

	for (size_t i = 0; i < sends->count && !err; i++) {
		struct part next = part_of_send(j, &sends->data[i]);
		struct part *before = j->parts.count ? &j->parts.data[j->parts.count - 1] : NULL;
		bool hole = sends->data[i].hole;

		if (before && hole)
			before->x.flags |= EXCHANGE_SOFT_END;
		if (before && !hole && !send_begins(j, before, &next, &next.x.boundary))
			part_extend(before, &next);
		else
			err = vec_push(&j->parts, next);
	}
	return err;
}

/* The same of what the serving end received, where the caller was not recorded. */
static int parts_of_reads(struct joining *j)
{
	const struct byte_ranges *reads = &j->c->server.received, *sends = &j->c->server.sent;
	int err = 0;

	for (size_t i = 0; i < reads->count && !err; i++) {
		const struct byte_range *r = &reads->data[i];
		struct part *before = j->parts.count ? &j->parts.data[j->parts.count - 1] : NULL;
		struct part next = {
			.x = {.from = r->from, .to = r->to, .connection = j->connection},
			.whole = i,
			.whole_ns = r->time_ns,
			.whole_tid = r->tid,
			.whole_light = r->light};

		if (before && !r->hole && !any_between(sends, before->whole_ns, r->time_ns)) {
			part_extend(before, &next);
			continue;
		}
		if (r->hole)
			next.x.flags |= EXCHANGE_SOFT_BEGIN;
		err = vec_push(&j->parts, next);
	}
	return err;
}

/* ---- answers ---- */

/* The answer that the sends [first, end) are. */
static struct part answer_of(const struct byte_ranges *sends, size_t first, size_t end)
{
	const struct byte_range *last = &sends->data[end - 1];
	struct part answer = {.x = {.answer_from = sends->data[first].from, .answer_to = last->to},
			      .answered_ns = last->time_ns,
			      .answered_tid = last->tid};

	for (size_t i = first + 1; i < end; i++)
		if (sends->data[i].hole)
			answer.x.flags |= EXCHANGE_CUT;
	return answer;
}

static void part_answer(struct part *part, const struct part *answer)
{
	part->x.answer_from = answer->x.answer_from;
	part->x.answer_to = answer->x.answer_to;
	part->x.flags |= answer->x.flags;
	part->answered_ns = answer->answered_ns;
	part->answered_tid = answer->answered_tid;
}

/* The requests [first, end) of the list got their answers by the sends [from, to). */
static void batch_settle(struct joining *j, size_t first, size_t end, size_t from, size_t to)
{
	const struct byte_ranges *sends = &j->c->server.sent;
	size_t requests = 0;
	struct part answer;
	bool each;

	if (from == to)
		return;
	for (size_t i = first; i < end; i++)
		requests += j->parts.data[i].whole != NO_RANGE;
	each = requests > 1 && requests == to - from;
	answer = answer_of(sends, from, to);
	for (size_t i = first; i < end; i++) {
		if (j->parts.data[i].whole == NO_RANGE)
			continue;
		if (each) {
			answer = answer_of(sends, from, from + 1);
			from++;
		}
		part_answer(&j->parts.data[i], &answer);
	}
}

/* Up to which byte the caller had received answers when it sent the request. */
static u64 received_before(const struct joining *j, const struct part *part)
{
	const struct byte_ranges *reads = &j->c->caller.received;
	size_t until = part->first_ns ? ranges_until(reads, part->first_ns) : 0;

	return until ? reads->data[until - 1].to : 0;
}

/* The answer began before the request was whole: what was received until then counts as whole. */
static void part_hasten(const struct joining *j, struct part *part, u64 sent_ns)
{
	const struct byte_ranges *reads = &j->c->server.received;
	size_t until = ranges_until(reads, sent_ns);

	if (!until)
		return;
	part->whole = until - 1;
	part->whole_ns = reads->data[until - 1].time_ns;
	part->whole_tid = reads->data[until - 1].tid;
	part->whole_light = reads->data[until - 1].light;
}

/* When the serving end received the first byte of a request. */
static u64 begun_ns(const struct joining *j, const struct part *part)
{
	const struct byte_ranges *reads = &j->c->server.received;
	size_t first = range_completing(reads, part->x.from + 1);

	return first != NO_RANGE && reads->data[first].time_ns < part->whole_ns
		       ? reads->data[first].time_ns
		       : part->whole_ns;
}

/*
 * The sends [*from, at) answer requests before this one; returns where its own may begin. The time
 * of a send is the end of its call: by then the caller may have got the answer and sent again.
 */
static size_t sends_before(const struct joining *j, struct part *part, size_t at, bool pending)
{
	const struct byte_ranges *sends = &j->c->server.sent;
	u64 received = received_before(j, part), begun = begun_ns(j, part);
	size_t first = at;

	while (at < sends->count &&
	       (sends->data[at].time_ns < begun || sends->data[at].to <= received))
		at++;
	if (at == first && pending)
		while (at < sends->count && sends->data[at].time_ns < part->whole_ns)
			at++;
	else if (at < sends->count && sends->data[at].time_ns < part->whole_ns)
		part_hasten(j, part, sends->data[at].time_ns);
	return at;
}

/* Whether an answer to requests before this one was sent that is not among the sends. */
static bool was_lost(const struct joining *j, const struct part *part, size_t at)
{
	const struct byte_ranges *sends = &j->c->server.sent;
	u64 sent = at ? sends->data[at - 1].to : 0;

	return received_before(j, part) > sent || (at < sends->count && sends->data[at].hole);
}

/* Finds the answers by what the serving end sent. */
static void answers_of_server(struct joining *j)
{
	size_t begin = 0, from = 0, count = j->parts.count;
	bool pending = false;

	for (size_t i = 0; i < count; i++) {
		struct part *part = &j->parts.data[i];
		size_t at;

		if (part->whole == NO_RANGE)
			continue;
		at = sends_before(j, part, from, pending);
		/* the requests before were answered, be it in a loss, or it was a greeting */
		if (at > from || was_lost(j, part, at)) {
			batch_settle(j, begin, i, from, at);
			begin = i;
			from = at;
		}
		pending = true;
	}
	batch_settle(j, begin, count, from, j->c->server.sent.count);
}

/* Finds the answer by what the caller received, where the serving end does not tell. */
static void answer_of_caller(const struct joining *j, struct part *part, u64 next_ns)
{
	const struct byte_ranges *reads = &j->c->caller.received;
	size_t from = ranges_until(reads, part->last_ns), to = from;

	while (to < reads->count && reads->data[to].time_ns < next_ns)
		to++;
	if (to == from)
		return;
	part->x.answer_from = reads->data[from].from;
	part->x.answer_to = reads->data[to - 1].to;
	if (part->whole != NO_RANGE && j->c->caller.host == j->c->server.host) {
		part->answered_ns = reads->data[to - 1].time_ns; /* or before */
		part->x.flags |= EXCHANGE_SOFT_END | EXCHANGE_CUT;
	}
	for (size_t i = from + 1; i < to; i++)
		if (reads->data[i].hole)
			part->x.flags |= EXCHANGE_CUT;
}

static void answers_find(struct joining *j)
{
	if (j->c->server.received.count)
		answers_of_server(j);
	for (size_t i = 0; i < j->parts.count; i++) {
		struct part *part = &j->parts.data[i];
		u64 next_ns = i + 1 < j->parts.count ? part[1].first_ns : UINT64_MAX;

		if (part->x.answer_to == part->x.answer_from && part->first_ns &&
		    j->c->caller.received.count)
			answer_of_caller(j, part, next_ns);
	}
}

/* ---- exchanges ---- */

/* The process of a thread of an end, as exchange_end has it. 0 or -ENOMEM. */
static int end_fill(struct joining *j, const struct socket_end *of, struct exchange_end *end)
{
	end->process = process_of_thread(j->processes, of->host, end->first_tid, end->first_ns,
					 true);
	return end->process ? 0 : -ENOMEM;
}

/* Notes the light thread of an end, if it has one. 0 or -ENOMEM. */
static int light_fill(struct joining *j, u32 light, struct exchange_end *end)
{
	const struct range_light *of;
	struct exchange_detail *detail;
	int err;

	if (!light)
		return 0;
	err = exchange_details_add(j->details, &end->detail);
	if (err)
		return err;
	of = &j->connections->ends.lights.data[light];
	detail = &j->details->list.data[end->detail];
	detail->light = of->light;
	detail->light_maker = of->maker;
	return 0;
}

static int caller_fill(struct joining *j, struct part *part)
{
	const struct byte_ranges *reads = &j->c->caller.received;
	struct exchange_end *end = &part->x.caller;
	bool answered = part->x.answer_to > part->x.answer_from;
	size_t last = answered ? range_completing(reads, part->x.answer_to) : NO_RANGE;

	int err;

	*end = (struct exchange_end){.first_ns = part->first_ns, .first_tid = part->first_tid};
	if (last != NO_RANGE) {
		end->last_ns = reads->data[last].time_ns;
		end->last_tid = reads->data[last].tid;
	}
	if (end->last_ns && end->last_ns < end->first_ns)
		end->first_ns = end->last_ns; /* it was received before the send returned */
	if (!end->last_ns)
		part->x.flags |= EXCHANGE_SOFT_END;
	err = end_fill(j, &j->c->caller, end);
	return err ? err : light_fill(j, part->light, end);
}

static int server_fill(struct joining *j, struct part *part)
{
	struct exchange_end *end = &part->x.server;
	int err;

	*end = (struct exchange_end){.first_ns = part->whole_ns,
				     .first_tid = part->whole_tid,
				     .last_ns = part->answered_ns,
				     .last_tid = part->answered_tid};
	if (!part->answered_ns)
		part->x.flags |= EXCHANGE_SOFT_END;
	err = end_fill(j, &j->c->server, end);
	return err ? err : light_fill(j, part->whole_light, end);
}

/*
 * Times are those of the ends of calls. On one host, a request is sent before it is received, and
 * its answer likewise.
 */
static void times_order(const struct joining *j, struct exchange *x)
{
	if (j->c->caller.host != j->c->server.host || !x->caller.process || !x->server.process)
		return;
	if (x->server.first_ns < x->caller.first_ns)
		x->caller.first_ns = x->server.first_ns;
	if (x->caller.last_ns > x->server.first_ns && x->server.last_ns > x->caller.last_ns)
		x->server.last_ns = x->caller.last_ns;
}

/* The end of the first loss of a host that ends behind a time; 0: there is none. */
static u64 loss_end_after(const struct partial *p, u64 time_ns)
{
	size_t n = COUNT_BEFORE(&p->losses_joined, e, e->end_ns <= time_ns);

	return n < p->losses_joined.count ? p->losses_joined.data[n].end_ns : 0;
}

/*
 * A request whose answer is not there was over when the next one came on its connection, or may
 * have been answered in a loss. Otherwise it would stay open, and take calls of others.
 */
static void part_close(const struct joining *j, struct part *part, const struct part *next)
{
	u32 host = j->c->server.host;
	u64 lost_ns = loss_end_after(j->processes->hosts[host].p, part->whole_ns);
	u64 next_ns = next && next->whole != NO_RANGE ? begun_ns(j, next) : 0;

	if (!next_ns && !lost_ns)
		return;
	part->answered_ns = next_ns && (!lost_ns || next_ns < lost_ns) ? next_ns : lost_ns;
	part->x.flags |= EXCHANGE_SOFT_END | (lost_ns ? EXCHANGE_CUT : 0);
}

static int exchanges_give(struct joining *j)
{
	int err = 0;

	for (size_t i = 0; i < j->parts.count && !err; i++) {
		struct part *part = &j->parts.data[i];

		if (part->whole != NO_RANGE && !part->answered_ns)
			part_close(j, part, i + 1 < j->parts.count ? part + 1 : NULL);
		if (part->first_ns)
			err = caller_fill(j, part);
		if (!err && part->whole != NO_RANGE)
			err = server_fill(j, part);
		times_order(j, &part->x);
		err = err ? err : vec_push(j->out, part->x);
	}
	return err;
}

int exchange_details_add(struct exchange_details *details, u32 *number)
{
	int err = details->list.count ? 0 : vec_push(&details->list, (struct exchange_detail){0});

	err = err || details->apps.count ? err : vec_push(&details->apps, NO_APP);
	err = err ? err : vec_push(&details->list, (struct exchange_detail){0});
	err = err ? err : vec_push(&details->apps, NO_APP);
	if (!err)
		*number = (u32)details->list.count - 1;
	return err;
}

void exchange_details_free(struct exchange_details *details)
{
	vec_free(&details->list);
	vec_free(&details->apps);
}

/* ---- streams ---- */

/* A stream: bytes from one end to the other. */
struct streaming {
	const struct socket_end *from, *to;
	const struct byte_ranges *ranges; /* of the end that sent, else of the one that received */
};

/* A burst: the ranges [first, end). */
static int burst_give(struct joining *j, const struct streaming *s, size_t first, size_t end)
{
	const struct byte_range *begin = &s->ranges->data[first];
	struct exchange x = {.from = begin->from,
			     .to = s->ranges->data[end - 1].to,
			     .connection = j->connection,
			     .flags = EXCHANGE_STREAM | EXCHANGE_ONE_WAY};
	size_t whole = range_completing(&s->to->received, x.to);
	int err = 0;

	if (s->from->sent.count) {
		x.caller = (struct exchange_end){.first_ns = begin->time_ns,
						 .first_tid = begin->tid};
		err = end_fill(j, s->from, &x.caller);
	}
	if (!err && whole != NO_RANGE) {
		const struct byte_range *last = &s->to->received.data[whole];

		x.server = (struct exchange_end){.first_ns = last->time_ns,
						 .first_tid = last->tid,
						 .last_ns = last->time_ns,
						 .last_tid = last->tid};
		err = end_fill(j, s->to, &x.server);
	}
	return err ? err : vec_push(j->out, x);
}

static int stream_give(struct joining *j, const struct socket_end *from,
		       const struct socket_end *to)
{
	const struct streaming s = {from, to, from->sent.count ? &from->sent : &to->received};
	size_t first = 0;
	int err = 0;

	for (size_t i = 1; i <= s.ranges->count && !err; i++) {
		const struct byte_range *before = &s.ranges->data[i - 1];

		if (i < s.ranges->count && before[1].time_ns <= before->time_ns + STREAM_SILENCE_NS)
			continue;
		err = burst_give(j, &s, first, i);
		first = i;
	}
	return err;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static int connection_join(struct joining *j)
{
	const struct connection *c = j->c;
	size_t forth = larger(c->caller.sent.count, c->server.received.count);
	size_t back = larger(c->server.sent.count, c->caller.received.count);
	int err;

	if (!back && forth > STREAM_TURNS)
		return stream_give(j, &c->caller, &c->server);
	if (!forth && back > STREAM_TURNS)
		return stream_give(j, &c->server, &c->caller);
	if (!forth)
		return 0; /* a greeting, or what is left of an answer */
	j->parts.count = 0;
	err = c->caller.sent.count ? parts_of_sends(j) : parts_of_reads(j);
	if (err)
		return err;
	answers_find(j);
	return exchanges_give(j);
}

int exchanges_make(struct exchange_list *out, struct exchange_details *details,
		   const struct connections *connections, struct processes *processes)
{
	struct joining j = {
		.connections = connections, .processes = processes, .out = out, .details = details};
	int err = send_habits_find(&j.habits, connections);

	for (size_t i = 0; i < connections->list.count && !err; i++) {
		j.c = &connections->list.data[i];
		j.connection = (u32)i;
		j.joins = send_habits_join(&j.habits, j.c);
		err = connection_join(&j);
	}
	vec_free(&j.parts);
	send_habits_free(&j.habits);
	return err;
}
