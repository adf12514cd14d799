/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of applications that take part in requests, numbered over all hosts. */
#ifndef REQUEST_APPS_H
#define REQUEST_APPS_H

#include "map/tree/tree.h"
#include "request/exchanges.h"

struct request_app {
	u32 host;
	u32 node;  /* its number in the tree of the host */
	u32 above; /* the app that is its parent, NO_APP: none is known */
	u32 top;   /* the topmost one of the same process above it, or itself */
};

/* Starts with all zero. */
struct request_apps {
	struct tree *trees; /* of each host: the nodes of its applications, in no order */
	size_t hosts;
	VEC(struct request_app) list; /* by host, then as partial.spans */
};

/* 0 or -ENOMEM; free it in any case. */
int request_apps_make(struct request_apps *a, const struct request_host *hosts, size_t count);
void request_apps_free(struct request_apps *a);

/* The node of an app. */
static inline const struct node *request_app_node(const struct request_apps *a, u32 app)
{
	const struct request_app *of = &a->list.data[app];

	return &a->trees[of->host].nodes.data[of->node];
}

#endif
