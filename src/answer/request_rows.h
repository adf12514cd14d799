/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of requests: by operation, by edge of the service map, and by service. */
#ifndef ANSWER_REQUEST_ROWS_H
#define ANSWER_REQUEST_ROWS_H

#include "answer/rows.h"
#include "request/requests.h"

enum request_rows_by {
	REQUEST_ROWS_OPERATION, /* what serves: a service at a port */
	REQUEST_ROWS_EDGE,	/* who calls it, too */
	REQUEST_ROWS_SERVICE,	/* at any port */
};

/*
 * Sums up the requests of all hosts that ended in the range of the answer, without streams. An
 * operation and a service have the time of the serving end, an edge has what the caller waited. A
 * request without an answer counts as an error. `out` is all zero. 0 or -ENOMEM.
 */
int request_rows_fill(struct rows *out, const struct requests *r, enum request_rows_by by);

#endif
