/* SPDX-License-Identifier: Apache-2.0 */
/* Which span of the application had the thread at an end of an exchange. */
#ifndef REQUEST_PUBLISHED_H
#define REQUEST_PUBLISHED_H

#include "request/apps.h"
#include "request/exchanges.h"

/* What the ends published, by exchange_end.detail. Starts with all zero. */
struct exchange_details {
	VEC(struct exchange_detail) list; /* [0] is not used */
	VEC(u32) apps;			  /* of each: the app that had the thread */
};

/*
 * Adds the contexts that the ends of exchanges published: that of the caller when it sent the
 * request, and that of the server when it sent the answer. 0 or -ENOMEM.
 */
int exchanges_published(struct exchange_list *list, struct exchange_details *details,
			const struct request_apps *apps, const struct processes *processes);

void exchange_details_free(struct exchange_details *details);

#endif
