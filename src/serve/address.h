/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_ADDRESS_H
#define SERVE_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/error.h"
#include "serve/serve.h"

/*
 * Listens at "ADDRESS:PORT", where the address is of this host alone: localhost, 127.0.0.0/8 or
 * [::1]. *fd is the socket, and `text` says where it listens.
 */
int address_listen(const char *address, int *fd, char text[SERVE_ADDRESS_BYTES], struct error *e);

/* Whether the Host header of a request names this host: any other name may be that of an attacker.
 */
bool host_is_local(const char *host);

#endif
