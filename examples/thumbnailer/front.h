/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accept thread: it accepts connections, reads the heads of requests as they come, and puts
 * each complete request into the queue of the pool. A client that is slow to ask therefore costs
 * no worker, and one that never finishes asking is dropped after FRONT_READ_S.
 */
#ifndef THUMBNAILER_FRONT_H
#define THUMBNAILER_FRONT_H

#include <stdint.h>

struct connection;
struct front;
struct pool;

enum {
	FRONT_CONNECTIONS_MAX = 512,
	FRONT_READ_S = 15,
	FRONT_DRAIN_S = 1,
};

/*
 * Listens on the address (numeric, IPv4 or IPv6) and port; port 0 lets the kernel choose. Takes
 * SIGTERM and SIGINT, which must be blocked in every thread. 0 or a negative errno.
 */
int front_open(struct front **out, const char *address, uint16_t port);

/* The port it listens on. */
uint16_t front_port(const struct front *front);

/* Serves until a signal ends it; requests go to the pool. 0 or a negative errno. */
int front_run(struct front *front, struct pool *pool);

/* Hands a connection back, answered; any thread. */
void front_return(struct front *front, struct connection *connection);

/* Closes every connection; the pool is closed by then. NULL is fine. */
void front_close(struct front *front);

#endif
