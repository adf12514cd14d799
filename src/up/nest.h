/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that claim the time of one thread: which of them lie in each other, and which of them had
 * the thread when. Where two of them overlap, and one is not an ancestor of the other in which that
 * lies, neither can have the time: both are ambiguous.
 */
#ifndef UP_NEST_H
#define UP_NEST_H

#include "base/map.h"
#include "base/vec.h"
#include "model/meter.h"
#include "span/received.h"

struct nested {
	struct trace_id trace;
	uint64_t span_id, parent_id;
	uint64_t begin_ns, end_ns;
	bool is_ambiguous;
	size_t up; /* the number of the one in which it lies + 1; 0: none */
};

/* All spans of which the parents may be looked for: ids -> struct nested. */
int nest_know(struct bytes_map *known, struct nested *span);

/* The span with the ids of that one; NULL: none is known. */
const struct nested *nest_known(const struct bytes_map *known, const struct nested *span);

struct nest {
	VEC(struct nested *) spans;	     /* by begin, the longer one first */
	VEC(struct meter_stretch) stretches; /* disjoint, in the order of time */
	VEC(size_t) owners;		     /* of each stretch: a number in `spans` */
};

/*
 * Sorts the spans, sets is_ambiguous and up, and makes the stretches in which each was the
 * innermost. 0 or -ENOMEM.
 */
int nest_find(struct nest *n, const struct bytes_map *known);

void nest_free(struct nest *n);

#endif
