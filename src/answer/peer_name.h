/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the other end of a connection. */
#ifndef ANSWER_PEER_NAME_H
#define ANSWER_PEER_NAME_H

#include "map/partial.h"

/* Whether the socket has another end that is known. */
bool peer_is_known(const struct partial *p, const struct fact_socket *socket);

/*
 * Writes the address of the other end of an internet socket. One of IPv4 that a socket of IPv6 has
 * is written as that of IPv4. True if the address is one of IPv4.
 */
bool peer_address(const struct record_socket *socket, char *text, size_t size);

/*
 * Writes "address:port", "[address]:port", "unix:" and the path of a Unix socket, or "unix:" and
 * the inode of its peer. Returns `text`.
 */
char *peer_name(const struct partial *p, const struct fact_socket *socket, char *text, size_t size);

#endif
