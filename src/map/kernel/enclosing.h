/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which call or fault of its thread a span of the kernel lies. Each has its own record, with
 * the context that was known then: while a thread sleeps, the place of its program's context can
 * be found, so that the record of the call or fault has one that the record of the wait in it has
 * not. What lies in a call or fault stands where that does, whatever its own record says.
 */
#ifndef MAP_KERNEL_ENCLOSING_H
#define MAP_KERNEL_ENCLOSING_H

#include "map/kernel/kspans.h"

/* A stay in the kernel; end 0: none. */
struct visit {
	u64 begin_ns, end_ns;
	u64 shown_ns; /* begin of its span: of a call that began again, that of its first piece */
	bool fault, left_out; /* left_out: it is known, but not shown */
	struct context ctx;   /* of the span under which it stands */
};

/* The last visits of a thread. Starts with all zero. */
struct enclosing {
	struct visit call, fault, nested; /* nested: a fault of the kernel, in one of the two */
};

/* The innermost visit in which the span lies; NULL: none is known. Borrowed from `in`. */
const struct visit *enclosing_of(const struct enclosing *in, const struct kspan *k);

/*
 * Remembers a call or fault, which stands under ctx, for the spans after it; ignores other kinds.
 * Spans of a thread come in the order of kspans_sort().
 */
void enclosing_follow(struct enclosing *in, const struct kspan *k, const struct context *ctx,
		      bool left_out);

#endif
