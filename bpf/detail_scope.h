/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Scopes with a level of detail of their own. Capture writes them, the kernel programs match
 * threads with them.
 */
#ifndef BPF_DETAIL_SCOPE_H
#define BPF_DETAIL_SCOPE_H

#include "record/record.h"

#define DETAIL_SCOPES 8		/* of a recording; a state has the number of one, from 1 */
#define CALLS_SCOPED (1u << 31) /* of calls_scoped: it is in use */
#define CALLS_ASKED_CALLS 256	/* of calls_asked: that scope is at `calls` */
#define CALLS_ASKED_SPANS 512	/* likewise: it is that of threads under a span */
#define CALLS_SPANS_ASKED 256	/* of calls_spans */
#define DETAIL_SCOPE_ASK 0	/* the place of the one that `fathom detail` asked for */
#define DETAIL_MEMBERS 1024	/* processes of services that are looked for at once */
#define DETAIL_SCOPE_ALL 511u	/* a bit for each place */

/*
 * The number of the next raise or narrowing, calls_raised. The states of threads keep its lower 16
 * bits, of which the last one is CALLS_UNTOLD, and 0 stands for the level at the begin.
 */
static inline u32 calls_raised_next(u32 raised)
{
	u32 next = raised + 2;

	return (u16)next ? next : 2;
}

enum detail_scope_kind {
	DETAIL_SCOPE_NONE,
	DETAIL_SCOPE_COMM,    /* threads with that name, and what they start */
	DETAIL_SCOPE_PID,     /* a process, and what it started and starts */
	DETAIL_SCOPE_CGROUP,  /* the threads that are in a cgroup, or below it */
	DETAIL_SCOPE_SERVICE, /* processes that capture names (detail_members), and what they start
			       */
	DETAIL_SCOPE_SPANS,   /* threads under a span, while they are */
};

#endif
