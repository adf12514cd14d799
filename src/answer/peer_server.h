/* SPDX-License-Identifier: Apache-2.0 */
/* What serves the peers of connections: the programs of the same host that accepted them. */
#ifndef ANSWER_PEER_SERVER_H
#define ANSWER_PEER_SERVER_H

#include "map/partial.h"

/* The addresses at which a partial's processes accepted connections. */
struct peer_servers;

/* NULL: the memory ran out. The partial is borrowed. */
struct peer_servers *peer_servers_new(const struct partial *p);
void peer_servers_free(struct peer_servers *servers);

/*
 * The name of the program that accepted connections at the address of the socket's peer or, if
 * own_port is not 0, at this port of the socket's own host, in `text`. NULL: none was recorded.
 */
char *peer_server_name(const struct peer_servers *servers, const struct fact_socket *socket,
		       u16 own_port, char *text, size_t size);

#endif
