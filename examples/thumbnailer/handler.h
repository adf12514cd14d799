/* SPDX-License-Identifier: Apache-2.0 */
/* The handling of one request, and its spans. */
#ifndef THUMBNAILER_HANDLER_H
#define THUMBNAILER_HANDLER_H

struct connection;
struct fault;

enum {
	HANDLER_SEND_S = 20, /* for the whole answer; a client that takes longer loses it */
};

struct handler {
	const char *videos;  /* the directory with the videos, and nothing else */
	struct fault *fault; /* borrowed; NULL: GET /fault is not served */
};

/*
 * Begins the span of the request that has been read (zeros: one that could not be parsed), as a
 * child of the span its traceparent names. The span is active on no thread: the queue comes next.
 */
void handler_begin(struct connection *connection);

/* Answers with an error at once, without waiting for the socket, and ends the span. */
void handler_refuse(struct connection *connection, int status, const char *why);

/* Works on the request on the calling thread, answers it, and ends the span. */
void handler_run(const struct handler *handler, struct connection *connection);

#endif
