/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for traces as Jaeger's two query APIs write them. */
#ifndef SERVE_JAEGER_SEARCH_H
#define SERVE_JAEGER_SEARCH_H

#include "serve/route.h"

#define JAEGER_TRACES_MAX 1500
#define JAEGER_TAGS_MAX 64

/* The query points into it. */
struct jaeger_search {
	struct store_query query;
	struct attribute tags[JAEGER_TAGS_MAX];
};

/* Read the parameters of a search in the first and third version. NULL, or what is wrong. */
const char *jaeger_search_read(struct query *q, struct jaeger_search *out);
const char *jaeger_v3_search_read(struct query *q, struct jaeger_search *out);

#endif
