/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to requests over HTTP. */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <microhttpd.h>

#include "base/bytes.h"
#include "base/json_bytes.h"
#include "base/quota.h"
#include "serve/access.h"

/*
 * Answers with a body, which it takes over and leaves empty. Answers 429 and 503 ask to try again;
 * 405 says that POST is allowed.
 * MHD_NO if the connection is to be closed.
 */
enum MHD_Result answer_send(struct MHD_Connection *connection, unsigned int status,
			    const char *type, struct bytes *body);

/* The answer to a query. */
struct document {
	unsigned int status;
	const char *type;
	struct bytes *body;
	struct quota *quota; /* for its memory, until it is sent */
	bool is_own;	     /* if it cannot be sent, an error of fathom's own API says so */
};

/* Takes over the body and leaves it empty. 503 where the quota has no room for it. */
enum MHD_Result answer_document(struct MHD_Connection *connection, const struct document *document);

/* Answers with a response, which it takes over. */
enum MHD_Result answer_stream(struct MHD_Connection *connection, unsigned int status,
			      struct MHD_Response *response);

/* Answers a query with a line of text. */
enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
			    const char *text);

/* Writes the error of fathom's own API. 0 or -ENOMEM. */
int own_error_write(struct bytes *body, const char *why);

/* Answers a query with that error, or where `is_own` is false, with a line of text. */
enum MHD_Result answer_error(struct MHD_Connection *connection, bool is_own, unsigned int status,
			     const char *why);

/*
 * Whether a request may be answered: its length is clear, it is for a name of this host, not from a
 * browser's page of another origin, and brings the token where it must. Pages can send requests to
 * this host, with the right Host, though they may not read the answers. 0, or the status and why.
 */
unsigned int request_refused(struct MHD_Connection *connection, const struct access *access,
			     bool receives, const char **why);

/* The header of a request; NULL if it has none. */
const char *request_header(struct MHD_Connection *connection, const char *name);

#endif
