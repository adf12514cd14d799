/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a request: what the request waited for at each instant, from its end back to
 * its begin. Where its thread was blocked, the path goes on to the thread that ended that, for the
 * time of the wait; where it waited for an answer, to the server of that call.
 */
#ifndef REQUEST_CRITICAL_H
#define REQUEST_CRITICAL_H

#include "request/requests.h"

/* More segments are not told apart: the rest of the time is unknown. */
#define CRITICAL_SEGMENTS_MOST 100000

enum critical_state {
	CRITICAL_RUNNING,  /* the thread had a CPU, and worked for the request */
	CRITICAL_BUSY,	   /* the thread had a CPU, but had not taken the request up */
	CRITICAL_RUNNABLE, /* the thread was ready, and waited for a CPU */
	CRITICAL_WAITING,  /* the thread was blocked, and no other recorded thread is the cause */
	CRITICAL_NETWORK,  /* bytes were under way to the thread */
	CRITICAL_UNKNOWN,  /* nothing tells */
};

struct critical_segment {
	u64 begin_ns, end_ns; /* by the clock of the host of the request's span */
	u64 local_ns;	      /* begin_ns by the clock of `host` */
	/* Its length lies between these, which differ where two clocks tell its begin and its end.
	 */
	u64 least_ns, most_ns;
	u32 host;
	u32 tid;     /* the thread; 0: not known */
	u32 node;    /* the span that waited for it (request/nodes.h) */
	u8 state;    /* enum critical_state */
	u8 part;     /* waiting, runnable: enum split_part */
	u32 had_cpu; /* runnable: LIFE_HAD_CPU() of who had the CPU at its end; 0: not known */
	struct file_ref file;  /* waiting: on what; kind none: not known */
	struct life_wake wake; /* waiting: what ended it, if that was seen */
};

/* In the order of time, without holes: the lengths sum to that of the span. Starts with all zero.
 */
struct critical_path {
	VEC(struct critical_segment) list;
};

/*
 * Finds the critical path of a span that is one of an exchange, which is in this trace. Times of
 * another host are moved by the middle of the interval in which its clock differs; where no message
 * tells that, so that a server's time lies in the middle of its client's. 0 or -ENOMEM; free `out`
 * in any case.
 */
int critical_find(struct critical_path *out, const struct requests *r,
		  const struct request_trace *trace, const struct request_span *of);

void critical_free(struct critical_path *path);

#endif
