/* SPDX-License-Identifier: Apache-2.0 */
/* How likely an edge is. */
#ifndef REQUEST_PROBABILITY_H
#define REQUEST_PROBABILITY_H

#include "request/order.h"

/* What is known beside the edge. */
struct probability_of {
	const struct link_process *p;
	double complete; /* the share of requests that are, in the way that was chosen */
	double other;	 /* the same in the other way */
	double agree;	 /* the share of calls without a label of which both ways agreed at once */
};

/* The probability of an edge whose parent, evidence, candidates and agreement are filled. */
u32 edge_probability(const struct edge *edge, const struct probability_of *of);

#endif
