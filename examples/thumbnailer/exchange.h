/* SPDX-License-Identifier: Apache-2.0 */
/* The client's end of a connection: one GET after the other, on one socket while it lasts. */
#ifndef THUMBNAILER_EXCHANGE_H
#define THUMBNAILER_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

enum {
	EXCHANGE_TIMEOUT_S = 60,
	EXCHANGE_ANSWER_MAX = 64 << 20,
	EXCHANGE_HEAD_MAX = 8192,
};

struct exchange_target {
	const char *address; /* numeric, IPv4 */
	uint16_t port;
};

/* For one thread. */
struct exchange {
	const struct exchange_target *target;
	int fd;		/* -1: not connected */
	uint8_t *bytes; /* the last answer */
	size_t room;
};

struct exchange_answer {
	int status;	     /* 0: no answer came */
	const uint8_t *body; /* of the exchange, until its next get */
	size_t size;
};

void exchange_init(struct exchange *exchange, const struct exchange_target *target);
void exchange_close(struct exchange *exchange);

/*
 * Asks for the path and waits for the answer; connects first if need be. `traceparent` may be
 * "". 0, whatever the status is, or a negative errno; the next call connects anew then.
 */
int exchange_get(struct exchange *exchange, const char *path, const char *traceparent,
		 struct exchange_answer *answer);

#endif
