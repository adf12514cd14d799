/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the clients of a server send a request in several sends, as the head and the body of a
 * message, or several requests at once. Where the server reads such sends apart, it shows: it
 * answers between them, or not.
 */
#ifndef REQUEST_SEND_HABITS_H
#define REQUEST_SEND_HABITS_H

#include "base/map.h"
#include "request/connections.h"

/* Starts with all zero. */
struct send_habits {
	struct map by_server; /* hash of its address and port -> counts of sends, apart */
};

/* Counts over all connections. 0 or -ENOMEM; free `out` in any case. */
int send_habits_find(struct send_habits *out, const struct connections *connections);
void send_habits_free(struct send_habits *h);

/* Whether sends that the server of this connection reads together are mostly one request. */
bool send_habits_join(const struct send_habits *h, const struct connection *c);

#endif
