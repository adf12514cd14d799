/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of time. */
#ifndef BASE_INTERVAL_H
#define BASE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

/* [begin_ns, end_ns) */
struct interval {
	uint64_t begin_ns, end_ns;
};

struct intervals { /* a VEC */
	struct interval *data;
	size_t count, capacity;
};

#endif
