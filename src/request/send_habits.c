/* SPDX-License-Identifier: Apache-2.0 */
#include "request/send_habits.h"

#include "base/hash.h"
#include "request/byte_ranges.h"

/* Of pairs of sends: without an answer between them, and with one, in one value of a map. */
#define COUNTED(unanswered, answered) ((void *)((uintptr_t)(unanswered) << 32 | (answered)))

/* What serves: address, port and namespace; of what has no port, the connection. Never 0. */
static u64 server_of(const struct connection *c)
{
	const struct fact_socket *socket = c->server.socket ? c->server.socket : c->caller.socket;
	const struct record_socket *s = socket ? &socket->socket : NULL;
	u64 address;

	if (!s || !c->port)
		return c->id | 1;
	address = c->server.socket ? hash_pair(s->local_hi, s->local_lo)
				   : hash_pair(s->remote_hi, s->remote_lo);
	return hash_pair(address, hash_pair(s->netns, c->port)) | 1;
}

/* Counts pairs of sends that follow each other and were read apart. */
static int connection_count(struct send_habits *h, const struct connection *c)
{
	const struct byte_ranges *sends = &c->caller.sent, *reads = &c->server.received;
	u32 unanswered = 0, answered = 0;
	uintptr_t was;

	for (size_t i = 1; i < sends->count; i++) {
		const struct byte_range *before = &sends->data[i - 1], *next = &sends->data[i];
		size_t whole, then;

		if (next->hole || any_between(&c->caller.received, before->time_ns, next->time_ns))
			continue;
		whole = range_completing(reads, before->to);
		then = range_completing(reads, next->to);
		if (whole == NO_RANGE || then == NO_RANGE || whole == then)
			continue;
		if (any_between(&c->server.sent, reads->data[whole].time_ns,
				reads->data[then].time_ns))
			answered++;
		else
			unanswered++;
	}
	if (!unanswered && !answered)
		return 0;
	was = (uintptr_t)map_get(&h->by_server, server_of(c));
	return map_put(&h->by_server, server_of(c),
		       COUNTED((was >> 32) + unanswered, (u32)was + answered));
}

int send_habits_find(struct send_habits *out, const struct connections *connections)
{
	int err = 0;

	for (size_t i = 0; i < connections->list.count && !err; i++)
		err = connection_count(out, &connections->list.data[i]);
	return err;
}

void send_habits_free(struct send_habits *h)
{
	map_free(&h->by_server);
}

bool send_habits_join(const struct send_habits *h, const struct connection *c)
{
	uintptr_t counts = (uintptr_t)map_get(&h->by_server, server_of(c));

	return counts >> 32 > (u32)counts;
}
