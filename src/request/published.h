/* SPDX-License-Identifier: Apache-2.0 */
/* Which span of the application had the thread at an end of an exchange. */
#ifndef REQUEST_PUBLISHED_H
#define REQUEST_PUBLISHED_H

#include "request/apps.h"
#include "request/exchanges.h"

/*
 * Adds the contexts that the ends of exchanges published: that of the caller when it sent the
 * request, and that of the server when it sent the answer. 0 or -ENOMEM.
 */
int exchanges_published(struct exchange_list *list, struct exchange_details *details,
			const struct request_apps *apps, const struct processes *processes);

#endif
