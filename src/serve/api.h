/* SPDX-License-Identifier: Apache-2.0 */
/* The query API over HTTP: fathom's own, and Jaeger's. */
#ifndef SERVE_API_H
#define SERVE_API_H

#include "base/error.h"
#include "base/quota.h"
#include "log/log.h"
#include "monitor/monitors.h"
#include "serve/access.h"
#include "serve/counts.h"
#include "serve/live.h"
#include "serve/page.h"
#include "serve/serve.h"
#include "serve/tally.h"
#include "store/store.h"

struct api;

/* What the API shows; all of it outlives the API. */
struct api_source {
	struct log *log;
	struct store *store;
	struct counts *counts;
	struct tally *tally;
	struct live *live;
	struct senders *senders;
	struct monitors *monitors;
	const struct serve_more *more; /* NULL, or what the status shows besides */
	const struct access *access;   /* who may ask */
	const struct page *page;       /* a page at this address; NULL: none */
	const char *pageless;	       /* what / says where there is no page; NULL: nothing */
	bool is_plain;		       /* Jaeger's and Zipkin's API leave out what fathom adds */
	const struct receive_limits *limits;
	struct quota *spans;   /* memory for spans of all answers that are being made */
	struct quota *answers; /* and for all answers that are being sent */
};

/* Which APIs an address has. */
enum api_kind {
	API_ALL,    /* all but Zipkin's */
	API_JAEGER, /* Jaeger's alone */
};

/* Takes over the listening socket, also on failure. */
int api_start(int fd, enum api_kind kind, const struct api_source *source, struct api **out);

/* NULL is allowed. */
void api_stop(struct api *a);

#endif
