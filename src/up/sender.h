/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests of OTLP over HTTP to serve, through a Unix socket. For one thread. */
#ifndef UP_SENDER_H
#define UP_SENDER_H

#include "base/bytes.h"
#include "base/error.h"

struct sender {
	const char *path; /* of the socket; borrowed */
	int fd;		  /* -1: not connected */
};

/*
 * Sends a body and waits until it is acknowledged. 0; -EPROTO if it is refused for good; -EAGAIN if
 * it is to be sent again, or another negative errno of the connection, which is closed then.
 */
int sender_send(struct sender *s, const struct bytes *body, struct error *e);

void sender_close(struct sender *s);

#endif
