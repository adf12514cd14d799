/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives spans by OTLP over gRPC: HTTP/2 without TLS, with prior knowledge. One thread serves all
 * connections. A call whose entry is appended waits for the syncer, and its connection goes on with
 * other calls meanwhile.
 */
#ifndef SERVE_GRPC_H
#define SERVE_GRPC_H

#include "serve/delivery.h"

struct grpc;

/* Takes over the listening socket, also on failure. What it gets outlives it. */
int grpc_start(int fd, const struct destination *to, struct grpc **out);

/* Acknowledges what is synced, and ends within two seconds. NULL is allowed. */
void grpc_stop(struct grpc *g);

#endif
