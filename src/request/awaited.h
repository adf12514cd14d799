/* SPDX-License-Identifier: Apache-2.0 */
/* How long requests waited for the calls that they made. */
#ifndef REQUEST_AWAITED_H
#define REQUEST_AWAITED_H

#include "request/stints.h"

/* Of one request, within its time at the server. */
struct awaited {
	u64 ns;		   /* at least one call was under way */
	u64 off_thread_ns; /* of that, no thread worked for it or waited for a call */
};

/* One for each exchange of the input, to be freed with free(); NULL: the memory ran out. */
struct awaited *awaited_find(const struct stints_input *in, const struct stints *stints);

#endif
