/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New spans as server-sent events, to those who listen, as soon as they are stored.
 *
 * Each listener has a buffer. Who reads too slowly for it misses spans, and is told how many. Who
 * does not read for 30 seconds is disconnected. Any thread may call these functions.
 */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include <microhttpd.h>

#include "serve/watch.h"

#define LIVE_LISTENERS_MAX 32
#define LIVE_BUFFER_BYTES ((size_t)1 << 20) /* of a listener */

struct live;

/* Which spans a listener wants: those that meet all conditions. */
struct live_filter {
	const char *service, *operation; /* NULL: any */
	int kind;			 /* enum received_kind; < 0: any */
	bool is_error;			 /* only those in error */
	uint64_t duration_from_ns;
};

/* NULL: no memory, or no thread. */
struct live *live_open(void);

/* Ends all streams. Connections are resumed, so that the server can stop. NULL is allowed. */
void live_stop(struct live *l);

/* After the server has stopped. NULL is allowed. */
void live_close(struct live *l);

struct span_watch live_watch(struct live *l);

/*
 * A stream for a connection, whose server allows suspending. The filter is copied. Queue it, and
 * destroy it. NULL: there are too many listeners, or no memory.
 */
struct MHD_Response *live_listen(struct live *l, struct MHD_Connection *connection,
				 const struct live_filter *filter);

#endif
