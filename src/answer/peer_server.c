/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/peer_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/map.h"
#include "map/fact/address.h"
#include "map/fact/query.h"
#include "request/program_name.h"

struct peer_servers {
	const struct partial *p;
	struct map by_address; /* hash of namespace, address and port, and of namespace and port
				* alone -> const struct fact_socket * */
};

static u64 port_hash(u64 netns, u16 port)
{
	return hash_pair(hash_pair(netns, port), 1);
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
		    !query_socket_accepted(p, s))
			continue;
		err = map_put(&servers->by_address, address_hash(&s->socket, true), (void *)s);
		if (!err)
			err = map_put(&servers->by_address,
				      port_hash(s->socket.netns, s->socket.local_port), (void *)s);
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

char *peer_server_name(const struct peer_servers *servers, const struct fact_socket *socket,
		       u16 own_port, char *text, size_t size)
{
	const struct record_socket *s = &socket->socket;
	const struct fact_socket *server;

	if (s->family == AF_UNIX || !(own_port || s->remote_port))
		return NULL;
	server = map_get(&servers->by_address,
			 own_port ? port_hash(s->netns, own_port) : address_hash(s, false));
	if (!server)
		return NULL;
	program_name(servers->p, server->pid, server->time_ns, text, size);
	return strcmp(text, "?") == 0 ? NULL : text;
}
