/* SPDX-License-Identifier: Apache-2.0 */
#include "request/connections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/number_table.h"
#include "base/order.h"
#include "map/fact/address.h"
#include "map/fact/query.h"
#include "request/nat.h"

struct pairing {
	const struct request_host *hosts;
	struct connections *out;
	u32 *other;	/* of each end: the other one, + 1; 0: none */
	u32 *next;	/* of each end: another one with the same addresses, + 1 */
	u32 *ambiguous; /* of each end: connection.ambiguous */
	struct number_table addresses;
	struct map served; /* hash of an address and port on which somebody accepted -> PRESENT */
};

static bool has_ranges(const struct socket_end *end)
{
	return end->sent.count || end->received.count;
}

/* ---- by addresses ---- */

static bool has_addresses(const struct socket_end *end)
{
	return end->socket && end->socket->socket.family != AF_UNIX &&
	       end->socket->socket.remote_port && end->socket->socket.local_port;
}

/* 127/8, also mapped into IPv6, and ::1: addresses that mean another host in each namespace. */
static bool is_loopback(u64 hi, u64 lo)
{
	u8 bytes[16];

	memcpy(bytes, &hi, 8);
	memcpy(bytes + 8, &lo, 8);
	if (hi)
		return false;
	return bytes[10] == 0xff ? bytes[12] == 127 : bytes[8] == 0 && bytes[15] == 1;
}

/* The addresses of an end as those of the other one, if `mirrored`. */
static u64 addresses_hash(const struct record_socket *s, bool mirrored)
{
	u64 local = hash_pair(hash_pair(s->local_hi, s->local_lo), s->local_port);
	u64 remote = hash_pair(hash_pair(s->remote_hi, s->remote_lo), s->remote_port);

	return mirrored ? hash_pair(remote, local) : hash_pair(local, remote);
}

static bool addresses_mirror(const struct record_socket *a, const struct record_socket *b)
{
	if (a->local_port != b->remote_port || a->remote_port != b->local_port ||
	    a->local_lo != b->remote_lo || a->remote_lo != b->local_lo ||
	    a->local_hi != b->remote_hi || a->remote_hi != b->local_hi)
		return false;
	return a->netns == b->netns || !is_loopback(a->local_hi, a->local_lo);
}

static bool addresses_equal(const struct record_socket *a, const struct record_socket *b)
{
	return a->local_port == b->local_port && a->remote_port == b->remote_port &&
	       a->local_lo == b->local_lo && a->remote_lo == b->remote_lo &&
	       a->local_hi == b->local_hi && a->remote_hi == b->remote_hi;
}

static const struct record_socket *socket_of(const struct pairing *p, u32 end)
{
	return &p->out->ends.list.data[end].socket->socket;
}

/* The place of the ends with these addresses, or the free one for them. */
static u32 *addresses_place(const struct pairing *p, const struct record_socket *s, bool mirrored)
{
	u32 *place = number_table_home(&p->addresses, addresses_hash(s, mirrored));

	for (; *place; place = number_table_next(&p->addresses, place)) {
		const struct record_socket *other = socket_of(p, *place - 1);

		if (mirrored ? other->local_port == s->remote_port &&
				       other->remote_port == s->local_port &&
				       other->local_lo == s->remote_lo &&
				       other->remote_lo == s->local_lo &&
				       other->local_hi == s->remote_hi &&
				       other->remote_hi == s->local_hi
			     : addresses_equal(other, s))
			break;
	}
	return place;
}

static int addresses_fill(struct pairing *p)
{
	size_t count = p->out->ends.list.count;
	int err = number_table_init(&p->addresses, count);

	/* from the last to the first, so that lists begin with the first */
	for (size_t i = count; i-- > 0 && !err;) {
		u32 *place;

		if (!has_addresses(&p->out->ends.list.data[i]))
			continue;
		place = addresses_place(p, socket_of(p, (u32)i), false);
		p->next[i] = *place;
		*place = (u32)i + 1;
	}
	return err;
}

/* What one end sent came at the other one later, and has no answer yet. */
static bool is_unanswered(const struct socket_end *from, const struct socket_end *to)
{
	return !from->received.count && !to->sent.count && from->first_ns <= to->first_ns &&
	       from->sent.data[0].from <= to->received.data[0].from;
}

/* Both ends move bytes while the connection lasts. */
static bool times_overlap(const struct socket_end *a, const struct socket_end *b)
{
	if (!has_ranges(a) || !has_ranges(b))
		return true;
	if (is_unanswered(a, b) || is_unanswered(b, a))
		return true;
	return a->first_ns <= b->last_ns && b->first_ns <= a->last_ns;
}

/* The same of two hosts, by their Unix clocks, which may be wrong. */
static bool unix_overlap(const struct pairing *p, const struct socket_end *a,
			 const struct socket_end *b)
{
	u64 of_a = p->hosts[a->host].unix_ns, of_b = p->hosts[b->host].unix_ns;

	if (!of_a || !of_b || !has_ranges(a) || !has_ranges(b))
		return true;
	return a->first_ns + of_a <= b->last_ns + of_b + NAT_APART_NS &&
	       b->first_ns + of_b <= a->last_ns + of_a + NAT_APART_NS;
}

/* How well two ends fit whose addresses mirror each other; 0: not at all. */
static int fitness(const struct pairing *p, const struct socket_end *a, const struct socket_end *b)
{
	if (a->host != b->host &&
	    is_loopback(a->socket->socket.local_hi, a->socket->socket.local_lo))
		return 0;
	if (a->host != b->host)
		return unix_overlap(p, a, b) ? 2 : 1;
	if (!times_overlap(a, b))
		return 0;
	return a->socket->socket.netns == b->socket->socket.netns ? 3 : 2;
}

#define SAME_ADDRESSES_MOST 64 /* sockets with the same addresses that are looked at */

/* The end with the mirrored addresses that fits best, and has no other end yet; + 1. */
static u32 mirrored_find(const struct pairing *p, u32 end)
{
	const struct socket_end *of = &p->out->ends.list.data[end];
	u32 at = *addresses_place(p, socket_of(p, end), true), best = 0;
	int best_fitness = 0;

	for (int looked = 0; at && looked < SAME_ADDRESSES_MOST; at = p->next[at - 1], looked++) {
		const struct socket_end *candidate = &p->out->ends.list.data[at - 1];
		int now = at - 1 == end || p->other[at - 1] ||
					  !addresses_mirror(&of->socket->socket,
							    &candidate->socket->socket)
				  ? 0
				  : fitness(p, of, candidate);

		if (now > best_fitness) {
			best = at;
			best_fitness = now;
		}
	}
	return best;
}

static int ends_pair(struct pairing *p)
{
	const struct socket_end *list = p->out->ends.list.data;
	size_t count = p->out->ends.list.count;
	int err = addresses_fill(p);

	for (u32 i = 0; i < count; i++) {
		u32 peer = list[i].peer;

		if (peer && !p->other[i] && !p->other[peer - 1]) {
			p->other[i] = peer;
			p->other[peer - 1] = i + 1;
		}
	}
	for (u32 i = 0; i < count && !err; i++) {
		u32 other;

		if (p->other[i] || !has_addresses(&list[i]) || !has_ranges(&list[i]))
			continue;
		other = mirrored_find(p, i);
		if (other) {
			p->other[i] = other;
			p->other[other - 1] = i + 1;
		}
	}
	return err;
}

/* ---- behind NAT ---- */

static u64 last_byte(const struct byte_ranges *ranges)
{
	return ranges->count ? ranges->data[ranges->count - 1].to : 0;
}

/* Whether the other end may be one of another host, with other addresses. */
static bool may_be_translated(const struct pairing *p, u32 i)
{
	const struct socket_end *end = &p->out->ends.list.data[i];

	return !p->other[i] && has_addresses(end) && end->sent.count && end->received.count &&
	       !is_loopback(end->socket->socket.local_hi, end->socket->socket.local_lo) &&
	       !is_loopback(end->socket->socket.remote_hi, end->socket->socket.remote_lo);
}

static struct nat_end nat_end_of(const struct pairing *p, u32 i)
{
	const struct socket_end *end = &p->out->ends.list.data[i];
	u64 unix_ns = p->hosts[end->host].unix_ns;
	bool server = end->sides & FILE_ACCEPTED ||
		      query_socket_accepted(p->hosts[end->host].p, end->socket);

	return (struct nat_end){.end = i,
				.server = server,
				.forth = last_byte(server ? &end->received : &end->sent),
				.back = last_byte(server ? &end->sent : &end->received),
				.unix_ns = unix_ns ? end->first_ns + unix_ns : 0,
				.host = end->host,
				.socket = &end->socket->socket};
}

/* Joins ends of different hosts by their bytes and times. 0 or -ENOMEM. */
static int translated_pair(struct pairing *p)
{
	VEC(struct nat_end) list = {0};
	int err = 0;

	for (u32 i = 0; i < p->out->ends.list.count && !err; i++)
		if (may_be_translated(p, i))
			err = vec_push(&list, nat_end_of(p, i));
	if (!err)
		nat_ends_pair(list.data, list.count);
	for (size_t i = 0; i < list.count && !err; i++) {
		p->other[list.data[i].end] = list.data[i].other;
		if (list.data[i].other)
			p->ambiguous[list.data[i].end] = list.data[i].ambiguous;
	}
	vec_free(&list);
	return err;
}

/* ---- who serves ---- */

static u64 first_time(const struct byte_ranges *ranges)
{
	return ranges->count ? ranges->data[0].time_ns : UINT64_MAX;
}

/* Finds the addresses that serve, by the ends that were told as one side. 0 or -ENOMEM. */
static int served_find(struct pairing *p)
{
	const struct socket_end *list = p->out->ends.list.data;
	int err = 0;

	for (size_t i = 0; i < p->out->ends.list.count && !err; i++)
		if (has_addresses(&list[i]) && list[i].sides & (FILE_ACCEPTED | FILE_MADE))
			err = map_put(&p->served,
				      address_hash(&list[i].socket->socket,
						   list[i].sides & FILE_ACCEPTED),
				      PRESENT);
	return err;
}

/* Whether what was told of an end says that it accepted the connection: 1; that it made it: -1. */
static int side_of(const struct pairing *p, const struct socket_end *end)
{
	bool local, remote;

	if (end->sides & FILE_ACCEPTED)
		return 1;
	if (end->sides & FILE_MADE)
		return -1;
	if (!end->socket)
		return 0;
	if (query_socket_accepted(p->hosts[end->host].p, end->socket))
		return 1;
	if (!has_addresses(end))
		return 0;
	local = map_get(&p->served, address_hash(&end->socket->socket, true));
	remote = map_get(&p->served, address_hash(&end->socket->socket, false));
	return local - remote;
}

/* Whether `a` is the end that serves, of which `b` is the other one. */
static bool end_serves(const struct pairing *p, const struct socket_end *a,
		       const struct socket_end *b, bool *guessed)
{
	int side = side_of(p, a), other = side_of(p, b);

	*guessed = false;
	if (side != other)
		return side > other;
	*guessed = true;
	/* who received first serves; an end alone knows it of itself */
	if (has_ranges(a))
		return first_time(&a->received) < first_time(&a->sent);
	return first_time(&b->sent) < first_time(&b->received);
}

static u16 port_of(const struct pairing *p, const struct connection *c)
{
	const struct fact_socket *server = c->server.socket, *caller = c->caller.socket;
	u16 port;

	if (server && server->socket.family != AF_UNIX) {
		port = query_socket_accepted(p->hosts[c->server.host].p, server);
		return port ? port : server->socket.local_port;
	}
	return caller && caller->socket.family != AF_UNIX ? caller->socket.remote_port : 0;
}

/* ---- identity ---- */

static u64 connection_place(const struct pairing *p, const struct connection *c)
{
	bool caller = has_ranges(&c->caller);
	const struct socket_end *end = caller ? &c->caller : &c->server;
	u64 place = p->hosts[end->host].boot;

	if (!end->socket)
		return hash_pair(place, end->key);
	place = hash_pair(place, end->socket->socket.netns);
	if (end->socket->socket.family == AF_UNIX)
		return hash_pair(place, end->key);
	return hash_pair(place, addresses_hash(&end->socket->socket, !caller));
}

static u64 connection_id(const struct connection *c)
{
	const struct socket_end *end = has_ranges(&c->caller) ? &c->caller : &c->server;

	return hash_pair(c->place, end->first_ns);
}

static int connection_compare(const void *a, const void *b)
{
	const struct connection *x = a, *y = b;

	COMPARE(x->first_ns, y->first_ns);
	COMPARE(x->id, y->id);
	COMPARE(x->caller.host, y->caller.host);
	COMPARE(x->caller.key, y->caller.key);
	COMPARE(x->server.key, y->server.key);
	return 0;
}

static u64 earlier(u64 a, u64 b)
{
	return a && (a < b || !b) ? a : b;
}

static int connection_add(struct pairing *p, const struct socket_end *a, const struct socket_end *b)
{
	static const struct socket_end none;
	struct connection c = {.ambiguous = p->ambiguous[a - p->out->ends.list.data]};
	bool serves = end_serves(p, a, b, &c.guessed);

	c.server = serves ? *a : *b;
	c.caller = serves ? *b : *a;
	c.port = port_of(p, &c);
	c.first_ns = earlier(c.caller.first_ns, c.server.first_ns);
	c.place = connection_place(p, &c);
	c.id = connection_id(&c);
	if (!has_ranges(&c.caller)) {
		/* what was told of it still names the connection */
		const struct fact_socket *socket = c.caller.socket;

		c.caller = none;
		c.caller.socket = socket;
	}
	if (!has_ranges(&c.server)) {
		const struct fact_socket *socket = c.server.socket;

		c.server = none;
		c.server.socket = socket;
	}
	return vec_push(&p->out->list, c);
}

static int connections_make(struct pairing *p)
{
	static const struct socket_end none;
	const struct socket_end *list = p->out->ends.list.data;
	int err = 0;

	for (u32 i = 0; i < p->out->ends.list.count && !err; i++) {
		u32 other = p->other[i];

		if (other && other - 1 < i)
			continue;
		if (has_ranges(&list[i]) || (other && has_ranges(&list[other - 1])))
			err = connection_add(p, &list[i], other ? &list[other - 1] : &none);
	}
	if (!err && p->out->list.count)
		qsort(p->out->list.data, p->out->list.count, sizeof(*p->out->list.data),
		      connection_compare);
	return err;
}

int connections_find(struct connections *out, const struct request_host *hosts, size_t count)
{
	struct pairing p = {.hosts = hosts, .out = out};
	int err = connection_ends_find(&out->ends, hosts, count);

	if (err)
		return err;
	p.other = calloc(out->ends.list.count + 1, sizeof(*p.other));
	p.next = calloc(out->ends.list.count + 1, sizeof(*p.next));
	p.ambiguous = calloc(out->ends.list.count + 1, sizeof(*p.ambiguous));
	err = p.other && p.next && p.ambiguous ? ends_pair(&p) : -ENOMEM;
	if (!err && count > 1)
		err = translated_pair(&p);
	err = err ? err : served_find(&p);
	err = err ? err : connections_make(&p);
	free(p.other);
	free(p.next);
	free(p.ambiguous);
	number_table_free(&p.addresses);
	map_free(&p.served);
	return err;
}

void connections_free(struct connections *c)
{
	vec_free(&c->list);
	connection_ends_free(&c->ends);
}
