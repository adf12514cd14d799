/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls between services as a sample of traces tells them: those to services that sent no span, and
 * how sure it is which request made them.
 */
#ifndef SERVE_EDGES_H
#define SERVE_EDGES_H

#include "base/vec.h"
#include "serve/gather.h"

struct edge_sample {
	const char *from, *to; /* borrowed from the spans */
	uint64_t calls, errors;
	uint64_t total_ns, max_ns; /* of the calls, as their callers saw them */
	uint64_t told;		   /* calls with the attribute edge.probability, */
	double probability;	   /* and the sum of it */
	bool is_remote;		   /* no span of the callee is there */
};

typedef VEC(struct edge_sample) edge_samples;

/* Adds the calls of a batch that is indexed, and sorts all by their services. 0 or -ENOMEM. */
int edges_sample(const struct gathered *g, edge_samples *out);

/* The sample between two services; NULL: there is none. */
const struct edge_sample *edges_find(const edge_samples *samples, const char *from, const char *to);

#endif
