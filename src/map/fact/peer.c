/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/peer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/order.h"
#include "map/fact/kind.h"

struct fact_peer peer_of_record(const struct record_peer *r, struct texts *texts)
{
	return (struct fact_peer){.call_ns = r->call_ns,
				  .time_ns = r->head.time_ns,
				  .tid = r->head.tid,
				  .family = r->family,
				  .port = r->port,
				  .key = r->file.key,
				  .kind = r->file.kind,
				  .netns = r->netns,
				  .address_hi = r->address_hi,
				  .address_lo = r->address_lo,
				  .path = r->path_len ? texts_keep(texts, r->path, r->path_len)
						      : NULL};
}

/* The family of a socket for both versions of IP is that of the address that it was given. */
struct fact_socket peer_socket(const struct fact_peer *peer)
{
	struct fact_socket s = {.time_ns = peer->time_ns,
				.socket = {.file = {.key = peer->key, .kind = peer->kind},
					   .netns = peer->netns,
					   .family = peer->family,
					   .remote_port = peer->port,
					   .remote_hi = peer->address_hi,
					   .remote_lo = peer->address_lo},
				.path = (char *)peer->path};

	s.peer_hash = socket_peer_hash(&s);
	return s;
}

static int peer_add(struct facts *f, const struct record_head *head)
{
	const struct record_peer *r = (const void *)head;
	struct fact_peer peer = peer_of_record(r, &f->texts), *to;

	to = peer.path || !r->path_len
		     ? thread_facts_add(&f->peers, sizeof(*to), peer.tid, peer.call_ns)
		     : NULL;
	if (!to)
		return -ENOMEM;
	*to = peer;
	return 0;
}

static int peer_compare(const void *a, const void *b)
{
	const struct fact_peer *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->call_ns, y->call_ns);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->family, y->family);
	COMPARE(x->port, y->port);
	COMPARE(x->address_hi, y->address_hi);
	COMPARE(x->address_lo, y->address_lo);
	COMPARE(x->netns, y->netns);
	return strcmp(x->path ? x->path : "", y->path ? y->path : "");
}

const struct thread_order peer_order = {sizeof(struct fact_peer), offsetof(struct fact_peer, tid),
					offsetof(struct fact_peer, call_ns), peer_compare};

void archive_peer(struct archive *a, struct fact_peer *f)
{
	archive_u64(a, &f->call_ns);
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->tid);
	archive_u16(a, &f->family);
	archive_u16(a, &f->port);
	archive_u64(a, &f->key);
	archive_u16(a, &f->kind);
	archive_u64(a, &f->netns);
	archive_u64(a, &f->address_hi);
	archive_u64(a, &f->address_lo);
	archive_shared_path(a, &f->path);
}

static void peer_archive(struct archive *a, void *fact)
{
	archive_peer(a, fact);
}

const struct fact_kind fact_kind_peer = {
	.add = peer_add, .compare = peer_compare, .archive = peer_archive};
