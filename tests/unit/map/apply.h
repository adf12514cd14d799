/* SPDX-License-Identifier: Apache-2.0 */
/* A record given to a partial, which must take it. */
#ifndef TESTS_MAP_APPLY_H
#define TESTS_MAP_APPLY_H

#include "check.h"
#include "map/partial.h"

static inline void apply(struct partial *p, const void *record)
{
	CHECK_EQ(partial_apply(p, record), 0);
}

#endif
