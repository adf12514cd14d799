/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of a span that fathom gave it: its split, its version, and whether it is a
 * context. */
#ifndef STORE_TOLD_H
#define STORE_TOLD_H

#include "span/received.h"

struct told {
	uint64_t version;  /* `fathom.version`; 0: the span has none */
	bool measured;	   /* there is a part of the split */
	bool kernel;	   /* `fathom.kind` is that of a kernel span: a call, a wait and the like */
	bool is_context;   /* `fathom.kind` is "context": of the span, only its context was seen */
	bool is_counted;   /* `fathom.counted_as`: another span stands for it in lists and sums */
	bool call_counted; /* `fathom.call_counted_as`: other spans tell who called it */
	struct split time; /* `fathom.time.PART_ns`; other parts are 0 */
	uint32_t stands_for; /* `fathom.stands_for`: sums count it so often; 0: once */
};

struct told told_of(const struct received_span *span);

#endif
