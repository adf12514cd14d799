/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends connections whose request does not become whole in time, however it trickles: what a request
 * begins with can take long, too, and an empty connection holds a place. libmicrohttpd only ends
 * connections that are silent.
 */
#ifndef SERVE_DEADLINE_H
#define SERVE_DEADLINE_H

#include <microhttpd.h>
#include <stdint.h>

struct deadline;

/* A thread looks for them. Stop it after the daemon. */
int deadline_start(uint64_t limit_ns, struct deadline **out);

/* NULL is allowed. */
void deadline_stop(struct deadline *w);

/* For MHD_OPTION_NOTIFY_CONNECTION, with the deadline. */
void deadline_connection(void *deadline, struct MHD_Connection *connection, void **state,
			 enum MHD_ConnectionNotificationCode what);

/* The request of a connection is whole: its answer may take longer. */
void deadline_end(struct MHD_Connection *connection);

/* The answer is sent, and the time of the next request begins. */
void deadline_begin(struct MHD_Connection *connection);

#endif
