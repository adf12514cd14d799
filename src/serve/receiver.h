/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives spans over HTTP. One thread, or some, read requests of all connections. A connection
 * whose entry is appended is suspended, until another thread has synced the log for all that wait.
 */
#ifndef SERVE_RECEIVER_H
#define SERVE_RECEIVER_H

#include "base/error.h"
#include "serve/delivery.h"
#include "serve/route.h"

struct receiver;

/* All of it outlives the receiver. */
struct receiver_options {
	const struct protocol *protocol;
	struct destination to;
	/* what is answered at the other paths, and to other methods; without tables: nothing */
	struct route_set queries;
	unsigned int threads; /* that read requests; 0: one */
};

/* Takes over the listening socket, also on failure. */
int receiver_start(int fd, const struct receiver_options *options, struct receiver **out);

/* Acknowledges what is synced, and ends. NULL is allowed. */
void receiver_stop(struct receiver *r);

#endif
