/* SPDX-License-Identifier: Apache-2.0 */
/* What losses take away from how sure edges are. */
#ifndef REQUEST_DOUBT_H
#define REQUEST_DOUBT_H

#include "request/requests.h"

/*
 * Lowers the probability of edges on whose way records were lost: between when the request was read
 * and when the call was sent, on that host. What was there may have said something else.
 */
void edges_doubt(struct requests *r);

#endif
