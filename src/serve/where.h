/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of many spans of an operation goes, as one tree: a path of names of spans, below
 * each the parts of its own time, and below those the places where kernel spans waited.
 */
#ifndef SERVE_WHERE_H
#define SERVE_WHERE_H

#include "base/map.h"
#include "serve/gather.h"

enum where_kind {
	WHERE_SPAN,  /* spans of an operation */
	WHERE_PART,  /* own time of those above, which no child has, in a part of the split */
	WHERE_PLACE, /* time of that part in a place; only detailed spans tell it */
};

struct where_node {
	enum where_kind kind;
	const char *name, *service; /* in the pool; the service of WHERE_SPAN, else "" */
	uint64_t count;		    /* spans; of a place, kernel spans */
	/* of a place: the share of its part that it has in spans with kernel spans */
	uint64_t total_ns;
	/*
	 * How much of the time of the subjects it has (serve/time_shares.h): less than `total_ns`
	 * if it ran beside others. Those below a node sum to its own, but for spans without a
	 * split.
	 */
	uint64_t width_ns;
	uint64_t detailed;    /* spans with kernel spans */
	uint32_t first, next; /* nodes; 0: none */
};

/* The first node is that of the subjects. */
struct where_tree {
	struct pool *pool;
	struct bytes_map places; /* in `nodes` + 1, by the node above, kind, service and name */
	VEC(struct where_node) nodes;
	uint64_t left_out; /* nodes beyond the limit */
	uint64_t spans;	   /* subjects that were added */
	bool is_partial;   /* the time was over before all of them, and what is beneath, were */
};

/* Adds all subjects, or as many as the time allows. 0 or -ENOMEM. */
int where_add(struct where_tree *tree, const struct gathered *g);

/* Sorts the nodes below each by their time, the longest first. */
void where_finish(struct where_tree *tree);

void where_free(struct where_tree *tree);

#endif
