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

/* The partial of which they are; NULL of NULL. */
const struct partial *peer_servers_of(const struct peer_servers *servers);

/*
 * The name of the program that accepted connections at the peer's address, in `text`. NULL: none of
 * this host was recorded.
 */
char *peer_server_name(const struct peer_servers *servers, const struct fact_socket *socket,
		       char *text, size_t size);

#endif
