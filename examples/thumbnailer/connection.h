/* SPDX-License-Identifier: Apache-2.0 */
/* A client's connection and the request on it. */
#ifndef THUMBNAILER_CONNECTION_H
#define THUMBNAILER_CONNECTION_H

#include "fathom/fathom.h"
#include "http.h"

/*
 * Who may touch a connection: the accept thread, except between pool_put() and front_return(),
 * when it is the worker's. Both hand it over under a lock, so its fields need none.
 */
struct connection {
	int fd;
	enum {
		CONNECTION_READING,  /* its next request is awaited */
		CONNECTION_WORKING,  /* a worker has it */
		CONNECTION_DRAINING, /* answered for the last time, what still comes is dropped */
	} state;
	bool keep;		     /* set by the worker: another request may follow */
	int64_t deadline_ns;	     /* of READING and DRAINING */
	struct http_request request; /* its strings lie in `bytes` */
	struct fathom_span span;     /* of the request; begun by the accept thread */
	struct connection *next;     /* of all of them */
	struct connection *previous;
	struct connection *next_returned;
	size_t used;
	char bytes[HTTP_HEAD_MAX];
};

#endif
