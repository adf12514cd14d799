/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection for which a thread waits at an instant: that of the socket on which it sleeps, or
 * the one that it used last. All ends of connections are put in order once.
 */
#ifndef ANSWER_WAITED_FOR_H
#define ANSWER_WAITED_FOR_H

#include "request/requests.h"

/* When bytes went through an end last, and by which thread; time_ns 0: they never did. */
struct touch {
	u64 time_ns;
	u32 tid;
	bool sent;
};

/* A connection for which a thread waits, its side, and what went through it last. */
struct waited_for {
	const struct connection *connection; /* NULL: there is none */
	bool server;			     /* the thread is at the serving end */
	struct touch last;
};

struct waited_end {
	u64 key; /* of the socket, or the thread that used it last */
	u32 host, connection;
	struct waited_for end;
};

/* Starts with all zero. */
struct waited_connections {
	VEC(struct waited_end) by_file, by_thread; /* by host, key, connection */
};

/* The instant of an answer by the clock of a host: its end, or the begin of its range. */
u64 why_instant(const struct partial *p, bool at_begin);

/* The last bytes of an end until then. */
struct touch touch_last(const struct socket_end *end, u64 at_ns);

/* Looks at all connections at that instant. 0 or -ENOMEM; free it in any case. */
int waited_connections_make(struct waited_connections *out, const struct requests *r,
			    bool at_begin);
void waited_connections_free(struct waited_connections *c);

/* The best one: it asked and has no answer yet, or was used last. */
struct waited_for waited_on_file(const struct waited_connections *c, u32 host, u64 key);
struct waited_for waited_by_thread(const struct waited_connections *c, u32 host, u32 tid);

#endif
