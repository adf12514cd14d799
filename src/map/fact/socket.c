/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of sockets. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/order.h"
#include "map/fact/kind.h"
#include "map/fact/query.h"
#include "map/partial.h"

/* A peer that was told twice is one, whatever else was told of the socket. */
u64 socket_peer_hash(const struct fact_socket *s)
{
	const struct record_socket *r = &s->socket;
	u64 h = hash_pair((u64)r->family << 32 | r->remote_port, r->netns);

	h = hash_pair(hash_pair(h, r->remote_hi), r->remote_lo);
	if (s->path)
		return hash_pair(h, hash_bytes(s->path, strlen(s->path)));
	return r->family == AF_UNIX ? hash_pair(h, r->peer) : h;
}

static int socket_add(struct facts *f, const struct record_head *head)
{
	const struct record_socket *r = (const void *)head;
	struct fact_socket s = {.time_ns = r->head.time_ns, .pid = r->head.pid, .socket = *r};
	int err;

	if (r->path_len) {
		s.path = text_copy(r->path, r->path_len);
		if (!s.path)
			return -ENOMEM;
	}
	s.peer_hash = socket_peer_hash(&s);
	err = vec_push(&f->sockets, s);
	if (err)
		free(s.path);
	return err;
}

static int socket_compare(const void *a, const void *b)
{
	const struct fact_socket *x = a, *y = b;
	int bytes;

	COMPARE(x->socket.file.key, y->socket.file.key);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->pid, y->pid);
	COMPARE(x->socket.remote_port, y->socket.remote_port); /* the last one knows more */
	COMPARE(x->socket.peer, y->socket.peer);
	bytes = memcmp(&x->socket, &y->socket, offsetof(struct record_socket, path_len));
	return bytes ? bytes : strcmp(x->path ? x->path : "", y->path ? y->path : "");
}

static int peer_compare(const void *a, const void *b, void *arg)
{
	const struct facts *f = arg;
	const u32 *i = a, *j = b;

	COMPARE(f->sockets.data[*i].socket.peer, f->sockets.data[*j].socket.peer);
	COMPARE(*i, *j);
	return 0;
}

static int peers_index(struct facts *f)
{
	f->sockets_by_peer.count = 0;
	for (size_t i = 0; i < f->sockets.count; i++) {
		bool told = f->sockets.data[i].socket.peer != 0;
		int err = told ? vec_push(&f->sockets_by_peer, (u32)i) : 0;

		if (err)
			return err;
	}
	if (f->sockets_by_peer.count)
		qsort_r(f->sockets_by_peer.data, f->sockets_by_peer.count, sizeof(u32),
			peer_compare, f);
	return 0;
}

static int listener_compare(const void *a, const void *b)
{
	const struct fact_listener *x = a, *y = b;

	COMPARE(x->netns, y->netns);
	COMPARE(x->port, y->port);
	return 0;
}

/* Which side a connection is, by what was told of it: FILE_*; 0: nothing of that. */
u16 socket_side(const struct record_socket *r)
{
	return r->file.flags & FILE_ASKED ? FILE_MADE : r->file.flags & FILE_SIDES;
}

/* Where no side was told. Ports from here on are those that the kernel gives to clients, unless it
 * was told otherwise. */
#define EPHEMERAL_PORT 32768
/* So many connections with one local port were accepted: a client gets another port for each. */
#define ACCEPTED_LEAST 3

static bool is_tcp(const struct record_socket *s)
{
	return s->file.kind == FILE_KIND_tcp && s->local_port;
}

/* Whether a port is that of a server, by the sides of its socket, else by itself. */
static bool serves(const struct record_socket *last, u16 sides, bool connected)
{
	if (sides)
		return true;
	return !connected ||
	       (last->local_port < EPHEMERAL_PORT && last->remote_port >= EPHEMERAL_PORT);
}

/* Leaves each port once, of those that a server told, or that several sockets have. */
static void ports_count(struct facts *f)
{
	size_t kept = 0;

	for (size_t i = 0, next; i < f->listeners.count; i = next) {
		struct fact_listener *first = &f->listeners.data[i], port = *first;
		size_t sockets = 0;

		for (next = i; next < f->listeners.count; next++) {
			if (listener_compare(&f->listeners.data[next], &port) != 0)
				break;
			port.told |= f->listeners.data[next].told;
			sockets++;
		}
		if (port.told || sockets >= ACCEPTED_LEAST)
			f->listeners.data[kept++] = port;
	}
	f->listeners.count = kept;
}

/*
 * Finds the ports of servers, of facts that are sorted by socket. A socket that listens is told
 * only by a snapshot, so that connections have to tell of others.
 */
static int listeners_index(struct facts *f)
{
	int err = 0;

	f->listeners.count = 0;
	for (size_t i = 0, next; i < f->sockets.count && !err; i = next) {
		const struct record_socket *first = &f->sockets.data[i].socket, *last = first;
		bool connected = false;
		u16 sides = 0;

		for (next = i; next < f->sockets.count; next++) {
			if (f->sockets.data[next].socket.file.key != first->file.key)
				break;
			last = &f->sockets.data[next].socket;
			connected |= last->remote_port != 0;
			sides |= socket_side(last);
		}
		if (is_tcp(last) && sides != FILE_MADE)
			err = vec_push(&f->listeners,
				       ((struct fact_listener){last->netns, last->local_port,
							       serves(last, sides, connected)}));
	}
	if (f->listeners.count)
		qsort(f->listeners.data, f->listeners.count, sizeof(*f->listeners.data),
		      listener_compare);
	ports_count(f);
	return err;
}

static int sockets_index(struct facts *f)
{
	int err = peers_index(f);

	return err ? err : listeners_index(f);
}

static void socket_release(void *fact)
{
	free(((struct fact_socket *)fact)->path);
}

static void socket_archive(struct archive *a, void *fact)
{
	struct fact_socket *f = fact;

	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_bytes(a, &f->socket, offsetof(struct record_socket, path_len));
	archive_path(a, &f->path);
	f->peer_hash = socket_peer_hash(f);
}

/* Leaves the last of each socket that is open; who its peer is only the other end may say. */
static int sockets_keep(struct partial *p, struct living *l)
{
	struct facts *f = &p->facts;

	for (size_t i = 0; i < f->sockets.count; i++)
		f->sockets.data[i].socket.peer = query_socket_peer(p, &f->sockets.data[i]);
	KEEP_LAST(&f->sockets, e, socket.file.key, map_get(&l->files, e->socket.file.key),
		  free(e->path));
	return 0;
}

const struct fact_kind fact_kind_socket = {.add = socket_add,
					   .compare = socket_compare,
					   .index = sockets_index,
					   .release = socket_release,
					   .archive = socket_archive,
					   .keep = sockets_keep};
