/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which spans of applications tell of the same requests as the exchanges that fathom found. A
 * request is counted once: the span of its application stands for that of the exchange in lists and
 * sums, and both are in one trace.
 *
 * The span is the one that had the thread at the end of the exchange (request/published.h). Else it
 * is one that the process sent, whose time fits (up/sent.h), or, of a call, the parent that the
 * called application names.
 */
#ifndef UP_STAND_INS_H
#define UP_STAND_INS_H

#include "request/requests.h"
#include "up/sent.h"

/* A span of an application at an end of an exchange. span_id 0: there is none. */
struct stand_in {
	struct trace_id trace;
	u64 span_id, parent_id;
	u64 begin_ns, end_ns;
	bool counts; /* it is the request or the call itself, and stands for it in lists and sums */
	bool is_sure; /* it is known by a context or by ids, not by time */
};

struct stand_in_pair {
	struct stand_in client, server;
	bool call_is_told; /* the parent of the server's is of the calling process: a call, too */
};

/* Starts with `r` and `sent` (NULL: nothing was sent), else all zero. For one trace. */
struct stand_ins {
	const struct requests *r;
	struct sent *sent;
	struct map children; /* number of an exchange + 1 -> the first app below its server + 1 */
	struct map numbers;  /* number of an exchange + 1 -> number in `list` + 1 */
	VEC(struct stand_in_pair) list;
};

/* Finds those of all exchanges of a trace. 0 or -ENOMEM; free it in any case. */
int stand_ins_find(struct stand_ins *s, const struct request_trace *t);
void stand_ins_free(struct stand_ins *s);

/* Those of an exchange of the trace. */
const struct stand_in_pair *stand_ins_of(const struct stand_ins *s, u32 exchange);

/* The id of a trace as it stands in records. */
struct trace_id trace_of_bytes(const u8 id[16]);

#endif
