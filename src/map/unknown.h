/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why time is unknown: what a finished partial knows of the time around it. No partial keeps the
 * reason of each piece of unknown time: losses, gaps and filters are there with their times, and
 * those that touch the span of a thread are the reasons of its unknown time.
 */
#ifndef MAP_UNKNOWN_H
#define MAP_UNKNOWN_H

#include <stdbool.h>

#include "base/intervals.h"

struct partial;

/* U(name, value); the values are bits */
#define UNKNOWN_REASONS(U)                                                                         \
	U(gap, 1)     /* nothing was recorded in some of the time */                               \
	U(loss, 2)    /* records were lost then */                                                 \
	U(filter, 4)  /* the recording was asked to leave it out */                                \
	U(begin, 8)   /* the thread was not seen yet since the recording began */                  \
	U(untold, 16) /* none of these: no record tells, as of a thread that the kernel hides */
enum unknown_reason {
#define U(name, value) UNKNOWN_##name = value,
	UNKNOWN_REASONS(U)
#undef U
};
#define UNKNOWN_REASONS_COUNT 5

/* The name of the reason with that bit, 1 << number; NULL: there is none. Static. */
const char *unknown_reason_name(unsigned int number);

/* Whose time it is. */
struct unknown_of {
	uint32_t pid, tid; /* 0: any */
	uint64_t begin_ns, end_ns;
	/* Time of a span of an application, which depends on what calls tell of its context. */
	bool span;
};

/* The reasons (enum unknown_reason) for which some of that time can be unknown: one at least. */
unsigned int unknown_reasons(const struct partial *p, const struct unknown_of *of);

/* Called when a partial is finished: joins the times of its losses. 0 or -ENOMEM. */
int unknown_sort(struct partial *p);

#endif
