/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask and send.
 *
 * A request must name this host, since a page of a browser can reach it under any name that
 * resolves to it, and must not come from a page of another origin. Where a token is set, all must
 * bring it. Without one, clients on this host need none, and no other client is answered. Clients
 * of trusted networks may send spans without it. There is no TLS.
 */
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/error.h"
#include "serve/serve.h"

/* What a client is told that is refused. */
#define ACCESS_FOREIGN                                                                             \
	"the Host or Origin of the request is no name of this host; --allow-host adds one"
#define ACCESS_TOKENLESS "the request needs the token of this server: Authorization: Bearer TOKEN"

struct access;

/* 0, or error_misuse() for a network that is none, or -ENOMEM. Copies what it needs. */
int access_open(const struct access_options *options, struct access **out, struct error *e);
void access_close(struct access *a);

/* Whether the Host of a request, with or without a port, is a name of this host. NULL: it is not.
 */
bool access_host(const struct access *a, const char *host);

/* Whether a page of that origin may ask. NULL: none is told. */
bool access_origin(const struct access *a, const char *origin);

/* Whether a client must bring the token; if there is none, the client is refused. */
bool access_needs_token(const struct access *a, const struct sockaddr *client, bool receives);

/* Whether the header Authorization has the token. NULL: it has not. */
bool access_token(const struct access *a, const char *authorization);

/*
 * Reads the token of a file, the text in it without blanks around it. A file that other users may
 * read is refused.
 */
int access_token_read(const char *path, char token[ACCESS_TOKEN_BYTES], struct error *e);

#endif
