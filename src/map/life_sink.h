/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks that receive the results of lives. */
#ifndef MAP_LIFE_SINK_H
#define MAP_LIFE_SINK_H

#include "map/partial.h"

/* Calls that put what a life settles into the sums and lists of the partial. */
struct life_sink partial_sink(struct partial *p);

/* Remembers the first failure of a callback. */
static inline void partial_failed(struct partial *p, int err)
{
	if (err && !p->err)
		p->err = err;
}

#endif
