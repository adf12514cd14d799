/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the API of a running `fathom up` or `fathom serve`. */
#ifndef UP_HTTP_ASK_H
#define UP_HTTP_ASK_H

#include "base/bytes.h"
#include "base/error.h"

struct http_question {
	const char *address; /* "ADDRESS:PORT", as the server tells it */
	const char *method, *path;
	const char *token; /* NULL: none */
};

/* Appends the body of the answer. Its status, or a negative errno with the cause. */
int http_ask(const struct http_question *question, struct bytes *body, struct error *e);

#endif
