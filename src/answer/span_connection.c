/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_connection.h"

#include <arpa/inet.h>
#include <string.h>

#include "map/fact/query.h"

static void add_address(struct making *m, const struct record_socket *s)
{
	char address[INET6_ADDRSTRLEN] = "";
	u8 bytes[16];

	if (!s->remote_port)
		return;
	memcpy(bytes, &s->remote_hi, 8);
	memcpy(bytes + 8, &s->remote_lo, 8);
	if (s->family == AF_INET)
		inet_ntop(AF_INET, bytes + 12, address, sizeof(address));
	else
		inet_ntop(AF_INET6, bytes, address, sizeof(address));
	making_string(m, "network.peer.address", making_copy(m, address));
	making_integer(m, "network.peer.port", s->remote_port);
}

void making_peer(struct making *m, const struct kspan *k)
{
	const struct fact_socket *s = NULL;
	u64 peer;

	if (k->file.kind == FILE_KIND_tcp || k->file.kind == FILE_KIND_udp ||
	    k->file.kind == FILE_KIND_unix)
		s = query_socket(m->p, k->file.key, k->end_ns);
	if (!s)
		return;
	if (s->socket.family == AF_UNIX) {
		making_string(m, "network.transport", "unix");
		if (s->path)
			making_string(m, "network.peer.address", s->path);
	} else if (s->socket.family == AF_INET || s->socket.family == AF_INET6) {
		making_string(m, "network.transport",
			      k->file.kind == FILE_KIND_udp ? "udp" : "tcp");
		add_address(m, &s->socket);
	}
	peer = query_socket_peer(m->p, s);
	if (peer)
		making_string(m, "peer.fd.name",
			      making_text(m, "socket:[%llu]", (unsigned long long)peer));
}

/* Whether the next range continues without a hole. */
static u64 range_end(const struct fact_bytes *b)
{
	return b->from + (b->flags & BYTES_MESSAGE ? 1 : b->length);
}

void making_bytes(struct making *m, const struct kspan *k)
{
	const struct thread_facts *all = &m->p->facts.bytes;
	struct thread_place at;
	size_t n = query_bytes(m->p, k->tid, k->begin_ns, k->end_ns, &at), joined = 1;
	const struct fact_bytes *b = n ? thread_facts_next(all, sizeof(*b), &at) : NULL, *last = b;
	bool unsure = b && b->flags & BYTES_UNSURE;

	if (!b || (unsure && b->flags & BYTES_MESSAGE))
		return;
	for (; joined < n; joined++) {
		const struct fact_bytes *more = thread_facts_next(all, sizeof(*more), &at);

		if (more->key != b->key || more->direction != b->direction ||
		    more->from != range_end(last))
			break;
		unsure = unsure || more->flags & BYTES_UNSURE;
		last = more;
	}
	making_string(m, "bytes.direction", b->direction == BYTES_SENT ? "sent" : "received");
	making_integer(m, b->flags & BYTES_MESSAGE ? "messages.from" : "bytes.from", (s64)b->from);
	making_integer(m, b->flags & BYTES_MESSAGE ? "messages.to" : "bytes.to",
		       (s64)range_end(last));
	if (unsure)
		making_boolean(m, "bytes.unsure", true);
	if (joined < n)
		making_integer(m, "bytes.more", (s64)(n - joined));
}
