/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes exchanges of the byte ranges of connections: where a request begins and ends, and which
 * bytes answer it. Contents are not looked at.
 *
 * A call that sends, at the calling end, begins a request if the one before was sent whole: it was
 * answered, or a read of the serving end ended a request there. A read that begins and ends where
 * calls of the sender begin and end has whole requests, one for each of these calls. What the
 * serving end read together and answered by as many sends is answered one by one, else all by the
 * last. Where one end alone was recorded, its turns tell: it sent, then it received.
 *
 * A connection of which one direction alone has bytes, in more than STREAM_TURNS calls, is a
 * stream: each burst between silences of STREAM_SILENCE_NS is a one-way exchange.
 */
#ifndef REQUEST_EXCHANGES_H
#define REQUEST_EXCHANGES_H

#include "request/connections.h"
#include "request/exchange.h"
#include "request/processes.h"

#define STREAM_TURNS 16
#define STREAM_SILENCE_NS 100000000ull

/* Starts with all zero. */
struct exchange_list {
	struct exchange *data; /* a VEC */
	size_t count, capacity;
};

/*
 * Adds the exchanges of all connections, connection by connection; exchange.connection is the index
 * in the list. Adds the processes that took part. 0 or -ENOMEM.
 */
int exchanges_make(struct exchange_list *out, const struct connections *connections,
		   struct processes *processes);

#endif
