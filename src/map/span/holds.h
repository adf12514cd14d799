/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads had a span at once, how long any of them had it, and their time split. */
#ifndef MAP_SPAN_HOLDS_H
#define MAP_SPAN_HOLDS_H

#include "map/partial.h"

/* A place to work in, for one span after the other. Zero what is not said. */
struct span_holds {
	const struct partial *p; /* finished */
	/* the spans as a forest, by number in p->spans: number + 1, 0: none */
	const size_t *first_child, *next_sibling;
	struct intervals list; /* when which thread had the one in hand */
	VEC(size_t) below;     /* spans to look at */
	VEC(u64) begins, ends;
	struct intervals unsure; /* in which it may have had a thread, though nothing tells */
	struct looks looks;	 /* at spans, stays and what is unsure */
	/* of the one in hand */
	u64 from_ns, to_ns;
	struct split split;
};

struct span_held {
	u32 threads;	    /* the most at one instant */
	u64 ns;		    /* in which at least one had it */
	u64 unsure_ns;	    /* in which one may have had it, or the only one did what is not told */
	struct split split; /* of all its threads, until to_ns */
	bool whole;	    /* all that lies below was looked at */
};

/*
 * A thread that had span number `at` itself has it while it, or a span below it, is active on
 * that thread. Only what lies in [from_ns, to_ns) counts, also of h->unsure; where a stay goes on
 * at to_ns, its split is not known. 0 or -ENOMEM.
 *
 * It takes the time of all stays of the spans below, so that spans in spans without end would take
 * it squared: when looks.most (HOLDS_LOOKED_MAX and HOLDS_LOOKED_EACH for each span of the partial)
 * were looked at, what lies below is passed over, and `whole` is false.
 */
int span_holds_of(struct span_holds *h, size_t at, u64 from_ns, u64 to_ns, struct span_held *out);
#define HOLDS_LOOKED_MAX ((size_t)1 << 24)
#define HOLDS_LOOKED_EACH 256

void span_holds_free(struct span_holds *h);

/* The time that a thread gave to the span; NULL: it never had it. */
const struct span_share *span_share_of(const struct app_span *span, u32 tid);

/* How many threads ever had the span. */
u32 span_threads(const struct app_span *span);

#endif
