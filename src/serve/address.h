/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_ADDRESS_H
#define SERVE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/error.h"
#include "serve/serve.h"

#define ADDRESS_HOST_BYTES 256

/* An address at which to listen. */
union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Reads "ADDRESS:PORT", "[ADDRESS]:PORT" or "localhost:PORT". */
int address_parse(const char *text, union address *out, struct error *e);

/* Whether only this host can reach it: 127.0.0.0/8 and [::1]. */
bool address_is_local(const union address *address);

/* Listens. *fd is the socket, and `text` says where, with the port that was chosen for port 0. */
int address_listen(const union address *address, int *fd, char text[SERVE_ADDRESS_BYTES],
		   struct error *e);

/* The host of "HOST:PORT" or "HOST", without brackets. False: it is none. */
bool address_host(const char *text, char host[ADDRESS_HOST_BYTES]);

/*
 * Whether the Host header of a request is a name that every host has. Any other name may be that of
 * an attacker.
 */
bool host_is_local(const char *host);

#endif
