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
#define DETAIL_SCOPE_ASK 0	/* the place of the one that `fathom detail` asked for */

enum detail_scope_kind {
	DETAIL_SCOPE_NONE,
	DETAIL_SCOPE_COMM, /* threads with that name, and what they start */
	DETAIL_SCOPE_PID,  /* a process, and what it started and starts */
};

#endif
