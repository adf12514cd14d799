/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the other end of a connection. */
#ifndef ANSWER_PEER_NAME_H
#define ANSWER_PEER_NAME_H

#include "map/partial.h"

/* Whether the socket has another end that is known. */
bool peer_is_known(const struct partial *p, const struct fact_socket *socket);

/*
 * Writes "address:port", "[address]:port", "unix:" and the path of a Unix socket, or "unix:" and
 * the inode of its peer. Returns `text`.
 */
char *peer_name(const struct partial *p, const struct fact_socket *socket, char *text, size_t size);

#endif
