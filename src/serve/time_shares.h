/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the time of a span parts: each instant belongs to the span itself or to one of its children,
 * so that the times of a tree sum to the duration of its root.
 *
 * Of children that ran beside each other, the one that ended last has the time that they share: the
 * end of the span waited for that one. A child in the thread of its parent has all of its time. A
 * child in another thread or process has no more than the time that the parent waited.
 */
#ifndef SERVE_TIME_SHARES_H
#define SERVE_TIME_SHARES_H

#include "serve/gather.h"

struct child_share {
	uint32_t at;		   /* in the batch */
	uint64_t begin_ns, end_ns; /* its time in that of the parent; it is empty for some */
	uint64_t share_ns;	   /* at most the length of that */
	uint64_t waited_ns;	   /* in which kernel spans of the parent waited */
	bool is_apart;		   /* in another thread or process than the parent */
	uint64_t apart_before_ns;  /* the time before it of children that ran apart */
};

struct time_shares {
	uint64_t duration_ns;
	uint64_t own_ns;  /* what no child has */
	bool is_measured; /* the split is known */
	struct split own; /* its parts; they sum to `own_ns` if it is known, else all zero */
	VEC(struct child_share) children; /* the one that ended last is first */
};

/* Calculates them for a span that is no kernel span. 0 or -ENOMEM. Free them, also on failure. */
int time_shares_calculate(const struct gathered *g, uint32_t at, struct time_shares *out);
void time_shares_free(struct time_shares *s);

/*
 * How much of a wait beneath the span, which is a kernel span, is its own: while it waited for
 * another thread or process, children in these have it.
 */
uint64_t time_shares_wait_ns(const struct time_shares *s, const struct received_span *wait);

/* Parts one time as another one is parted: starts with `from_ns` and `to_ns`, the rest zero. */
struct scale {
	uint64_t from_ns, to_ns;
	uint64_t seen_ns, given_ns;
};

/* The next piece. All pieces of `from_ns` sum to `to_ns`. */
static inline uint64_t scale_next(struct scale *s, uint64_t piece_ns)
{
	uint64_t before_ns = s->given_ns;

	s->seen_ns += piece_ns;
	if (s->from_ns)
		s->given_ns = (uint64_t)((unsigned __int128)s->seen_ns * s->to_ns / s->from_ns);
	return s->given_ns - before_ns;
}

#endif
