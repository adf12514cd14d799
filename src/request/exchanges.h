/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes exchanges of the byte ranges of connections: where a request begins and ends, and which
 * bytes answer it. Contents are not looked at.
 *
 * A call that sends, at the calling end, begins a request if the one before was sent whole: it was
 * answered, or a read of the serving end ended a request there. A read that begins and ends where
 * calls of the sender begin and end has whole requests, one for each of these calls. What the
 * serving end read together and answered by as many sends is answered one by one, else all by the
 * last, unless clients of this server mostly send a request in several sends (send_habits.h). Where
 * one end alone was recorded, its turns tell: it sent, then it received.
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

#define NO_APP UINT32_MAX

/* What few ends have, by exchange_end.detail. Starts with all zero. */
struct exchange_details {
	VEC(struct exchange_detail) list; /* [0] is not used */
	VEC(u32) apps;			  /* of each: the app that had the thread; NO_APP: none */
};

/* Adds an empty one; *number gets its number. 0 or -ENOMEM. */
int exchange_details_add(struct exchange_details *details, u32 *number);
void exchange_details_free(struct exchange_details *details);

/* Starts with all zero. */
struct exchange_list {
	struct exchange *data; /* a VEC */
	size_t count, capacity;
};

/*
 * Adds the exchanges of all connections, connection by connection; exchange.connection is the index
 * in the list. Adds the processes that took part, and the light threads of ends. 0 or -ENOMEM.
 */
int exchanges_make(struct exchange_list *out, struct exchange_details *details,
		   const struct connections *connections, struct processes *processes);

#endif
