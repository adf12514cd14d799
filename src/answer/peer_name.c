/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/peer_name.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "map/fact/query.h"

bool peer_is_known(const struct partial *p, const struct fact_socket *socket)
{
	if (socket->socket.family == AF_UNIX)
		return socket->path || query_socket_peer(p, socket);
	return socket->socket.remote_port;
}

bool peer_address(const struct record_socket *socket, char *text, size_t size)
{
	static const u8 mapped[12] = {[10] = 0xff, [11] = 0xff};
	u8 bytes[16];
	bool old;

	memcpy(bytes, &socket->remote_hi, 8);
	memcpy(bytes + 8, &socket->remote_lo, 8);
	old = socket->family == AF_INET || memcmp(bytes, mapped, sizeof(mapped)) == 0;
	if (!inet_ntop(old ? AF_INET : AF_INET6, old ? bytes + 12 : bytes, text, (socklen_t)size))
		snprintf(text, size, "?");
	return old;
}

static void address_write(const struct record_socket *r, char *text, size_t size)
{
	char address[INET6_ADDRSTRLEN];
	bool old = peer_address(r, address, sizeof(address));

	snprintf(text, size, old ? "%s:%u" : "[%s]:%u", address, r->remote_port);
}

char *peer_name(const struct partial *p, const struct fact_socket *s, char *text, size_t size)
{
	if (s->socket.family == AF_UNIX && s->path)
		snprintf(text, size, "unix:%s", s->path);
	else if (s->socket.family == AF_UNIX) /* a socket pair, which has no name */
		snprintf(text, size, "unix:[%llu]", (unsigned long long)query_socket_peer(p, s));
	else
		address_write(&s->socket, text, size);
	return text;
}
