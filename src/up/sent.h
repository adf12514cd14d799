/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest spans that programs of this host sent, for whoever finds out which request each of
 * them tells of. Times are of the monotonic clock.
 */
#ifndef UP_SENT_H
#define UP_SENT_H

#include <pthread.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/record.h"
#include "span/received.h"

#define SENT_MAX 65536u	     /* spans that are remembered */
#define SENT_NAMES_MAX 4096u /* of services */

struct sent_span {
	struct trace_id trace;
	u64 span_id, parent_id;
	u64 begin_ns, end_ns;
	u32 pid, tid;	     /* tid 0: it is not known */
	u8 kind;	     /* enum received_kind */
	const char *service; /* lives as long as the ring */
};

/* Starts with all zero and an initialised lock; any thread may add and take. */
struct sent_ring {
	pthread_mutex_t lock;
	VEC(struct sent_span) list;
	size_t at; /* the place of the oldest one, once it is full */
	struct bytes_map names, by_ids;
};

/* Adds a span, or says more of one that is there. One for which there is no memory is left out. */
void sent_add(struct sent_ring *ring, const struct sent_span *span);
void sent_ring_free(struct sent_ring *ring);

/* A copy. Starts with all zero; for one thread. */
struct sent {
	VEC(struct sent_span) list; /* by process, then begin */
	VEC(bool) taken;	    /* of each: it tells of a request that was found */
	struct bytes_map by_ids;    /* ids -> number in `list` + 1 */
	struct map services;	    /* pid -> the service of its latest span */
};

/* Copies those that ended at a time or later. 0 or -ENOMEM; free it in any case. */
int sent_take(struct sent_ring *ring, u64 since_ns, struct sent *out);
void sent_free(struct sent *sent);

/* The span with these ids; NULL: there is none. */
const struct sent_span *sent_by_ids(const struct sent *sent, struct trace_id trace, u64 span_id);

/* An end of an exchange. */
struct sent_query {
	u32 pid, tid; /* tid 0: any */
	u64 begin_ns, end_ns;
	bool server;
};

/*
 * The span that tells of this end by process and time, and of no other: it begins and ends next to
 * it. Of a server it lies in the exchange, or goes on behind it; of a client it lies around it. One
 * of another thread is only taken if there is none of that thread. NULL: there is none.
 */
const struct sent_span *sent_find(const struct sent *sent, const struct sent_query *query);

/* It tells of an end, and so of no other. */
void sent_mark(struct sent *sent, const struct sent_span *span);

#endif
