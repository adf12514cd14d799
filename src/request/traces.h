/* SPDX-License-Identifier: Apache-2.0 */
/* Makes traces of exchanges whose parents are known. */
#ifndef REQUEST_TRACES_H
#define REQUEST_TRACES_H

#include "request/requests.h"

/* Fills requests.spans and requests.traces. 0 or -ENOMEM. */
int request_traces_make(struct requests *r);

#endif
