/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for traces as Zipkin's query API writes them. */
#ifndef SERVE_ZIPKIN_SEARCH_H
#define SERVE_ZIPKIN_SEARCH_H

#include "serve/route.h"

#define ZIPKIN_TERMS_MAX 100
#define ZIPKIN_LIMIT_PRESET 10

/* The query points into it. */
struct zipkin_search {
	struct store_query query;
	struct attribute tags[ZIPKIN_TERMS_MAX];
	const char *marks[ZIPKIN_TERMS_MAX];
};

/* Read the parameters. NULL, or what is wrong. */
const char *zipkin_search_read(struct query *q, struct zipkin_search *out);

/* The same of "endTs" and "lookback" alone. */
const char *zipkin_window_read(const struct query *q, struct store_query *query);

#endif
