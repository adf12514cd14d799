/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_connection.h"

#include <arpa/inet.h>
#include <string.h>

#include "answer/peer_name.h"
#include "map/fact/peer.h"
#include "map/fact/query.h"

static void add_address(struct span_builder *b, const struct record_socket *s)
{
	char address[INET6_ADDRSTRLEN] = "";

	if (!s->remote_port)
		return;
	peer_address(s, address, sizeof(address));
	builder_string(b, "network.peer.address", builder_copy(b, address));
	builder_integer(b, "network.peer.port", s->remote_port);
}

void span_add_peer(struct span_builder *b, const struct kspan *k)
{
	const struct fact_peer *named = k->kind == KSPAN_SYSCALL ? query_call_peer(b->p, k) : NULL;
	const struct fact_socket *s = NULL;
	struct fact_socket of_call;
	u64 peer;

	if (named) {
		of_call = peer_socket(named);
		s = &of_call;
	} else if (k->file.kind == FILE_KIND_tcp || k->file.kind == FILE_KIND_udp ||
		   k->file.kind == FILE_KIND_unix)
		s = query_socket(b->p, k->file.key, k->end_ns);
	if (!s)
		return;
	if (s->socket.family == AF_UNIX) {
		builder_string(b, "network.transport", "unix");
		if (s->path)
			builder_string(b, "network.peer.address", s->path);
	} else if (s->socket.family == AF_INET || s->socket.family == AF_INET6) {
		builder_string(b, "network.transport",
			       k->file.kind == FILE_KIND_udp ? "udp" : "tcp");
		add_address(b, &s->socket);
	}
	peer = named ? 0 : query_socket_peer(b->p, s);
	if (peer)
		builder_string(b, "peer.fd.name",
			       builder_text(b, "socket:[%llu]", (unsigned long long)peer));
}

/* Whether the next range continues without a hole. */
static u64 range_end(const struct fact_bytes *bytes)
{
	return bytes->from + (bytes->flags & BYTES_MESSAGE ? 1 : bytes->length);
}

void span_add_bytes(struct span_builder *b, const struct kspan *k)
{
	const struct thread_facts *all = &b->p->facts.bytes;
	struct thread_place at;
	size_t n = query_bytes(b->p, k->tid, k->begin_ns, k->end_ns, &at), joined = 1;
	const struct fact_bytes *first = n ? thread_facts_next(all, sizeof(*first), &at) : NULL,
				*last = first;
	bool unsure = first && first->flags & BYTES_UNSURE;

	if (!first || (unsure && first->flags & BYTES_MESSAGE))
		return;
	for (; joined < n; joined++) {
		const struct fact_bytes *more = thread_facts_next(all, sizeof(*more), &at);

		if (more->key != first->key || more->direction != first->direction ||
		    more->from != range_end(last))
			break;
		unsure = unsure || more->flags & BYTES_UNSURE;
		last = more;
	}
	builder_string(b, "bytes.direction", first->direction == BYTES_SENT ? "sent" : "received");
	builder_integer(b, first->flags & BYTES_MESSAGE ? "messages.from" : "bytes.from",
			(s64)first->from);
	builder_integer(b, first->flags & BYTES_MESSAGE ? "messages.to" : "bytes.to",
			(s64)range_end(last));
	if (unsure)
		builder_boolean(b, "bytes.unsure", true);
	if (joined < n)
		builder_integer(b, "bytes.more", (s64)(n - joined));
	if (first->light)
		builder_integer(b, "light.id", (s64)first->light);
	if (first->light_maker)
		builder_integer(b, "light.maker_id", (s64)first->light_maker);
}
