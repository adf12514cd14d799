/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of a received span that fathom gave it: its split and its version. */
#ifndef STORE_TOLD_H
#define STORE_TOLD_H

#include "span/received.h"

struct told {
	uint64_t version;  /* `fathom.version`; 0: the span has none */
	bool measured;	   /* there is a part of the split */
	bool kernel;	   /* `fathom.kind` is that of a kernel span: a call, a wait and the like */
	struct split time; /* `fathom.time.PART_ns`; other parts are 0 */
};

struct told told_of(const struct received_span *span);

#endif
