/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/peer_server.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/map.h"
#include "map/fact/kind.h"
#include "request/program_name.h"

struct peer_servers {
	const struct partial *p;
	struct map
		by_address; /* hash of namespace, address and port -> const struct fact_socket * */
};

static u64 address_hash(const struct record_socket *s, bool local)
{
	u64 address = local ? hash_pair(s->local_hi, s->local_lo)
			    : hash_pair(s->remote_hi, s->remote_lo);

	return hash_pair(address, hash_pair(s->netns, local ? s->local_port : s->remote_port));
}

struct peer_servers *peer_servers_new(const struct partial *p)
{
	struct peer_servers *servers = calloc(1, sizeof(*servers));
	int err = 0;

	if (!servers)
		return NULL;
	servers->p = p;
	for (size_t i = 0; i < p->facts.sockets.count && !err; i++) {
		const struct fact_socket *s = &p->facts.sockets.data[i];

		if (s->socket.family == AF_UNIX || !s->socket.local_port || !s->pid ||
		    !(socket_side(&s->socket) & FILE_ACCEPTED))
			continue;
		err = map_put(&servers->by_address, address_hash(&s->socket, true), (void *)s);
	}
	if (!err)
		return servers;
	peer_servers_free(servers);
	return NULL;
}

void peer_servers_free(struct peer_servers *servers)
{
	if (!servers)
		return;
	map_free(&servers->by_address);
	free(servers);
}

const struct partial *peer_servers_of(const struct peer_servers *servers)
{
	return servers ? servers->p : NULL;
}

char *peer_server_name(const struct peer_servers *servers, const struct fact_socket *socket,
		       char *text, size_t size)
{
	const struct fact_socket *server;

	if (socket->socket.family == AF_UNIX || !socket->socket.remote_port)
		return NULL;
	server = map_get(&servers->by_address, address_hash(&socket->socket, false));
	return server ? program_name(servers->p, server->pid, server->time_ns, text, size) : NULL;
}
