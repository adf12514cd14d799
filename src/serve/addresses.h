/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of the server: who listens where. */
#ifndef SERVE_ADDRESSES_H
#define SERVE_ADDRESSES_H

#include "serve/serve.h"

enum place { HTTP, OTLP_HTTP, OTLP_GRPC, ZIPKIN, JAEGER, ADDRESSES };

/*
 * Listens at the addresses of the options; the descriptor of one that is off is -1. On failure
 * *last is the address at fault, and those before it are open: close them all the same.
 */
int addresses_open(const struct serve_options *options, int fds[ADDRESSES],
		   struct serve_addresses *to, enum place *last, struct error *e);

/* Those that are not -1. */
void addresses_close(const int fds[ADDRESSES]);

#endif
