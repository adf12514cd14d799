/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel spans of threads that are too short to be seen, such as a million waits. Time has pieces
 * of one width. Those of one thread and kind that begin in the same piece are joined: the sums of
 * what they tell stay exact, and are the same whatever the order in which they come.
 */
#ifndef SERVE_STATES_H
#define SERVE_STATES_H

#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "span/received.h"
#include "span/split.h"

/* Attributes of a kernel span that stands for several. */
#define STATES_JOINED "fathom.joined"	    /* how many */
#define STATES_JOINED_NS "fathom.joined_ns" /* the sum of their durations */

struct state {
	/* what tells it apart, with the piece of time in which it begins */
	const struct received_resource *resource;
	const char *kind; /* of kernel spans; a text of the states */
	int64_t tid;
	/* what is summed up */
	uint64_t begin_ns, end_ns; /* from the first begin to the last end */
	uint64_t total_ns;
	uint64_t count;
	struct split time;
	/* of the longest one */
	const struct received_scope *scope;
	const char *name; /* a text of the states */
	struct trace_id trace;
	uint64_t span_id, parent_id;
	uint64_t longest_ns;
};

/* Starts with all zero but for the pool, which gets texts, the width, and `most`. */
struct states {
	struct pool *pool;
	uint64_t width_ns; /* of a piece of time; 0: nothing is joined yet */
	size_t most;	   /* when there are twice as many, the pieces become twice as wide */
	VEC(struct state) list;
	struct map places;	/* from 1, in the list */
	struct bytes_map texts; /* the copy in the pool by the text */
};

/* Joins a kernel span, which is shorter than a piece, unless its thread is not known. 0 or -ENOMEM.
 */
int states_add(struct states *s, const struct received_span *span);

/*
 * Takes kernel spans that are shorter than a piece out of the batch and joins them, in ever wider
 * pieces, until there are `most` of both together, or a piece is as wide as `range_ns`. If nothing
 * was joined yet, pieces begin with `width_ns`. 0 or -ENOMEM.
 */
int states_fit(struct states *s, struct received_batch *batch, uint64_t width_ns,
	       uint64_t range_ns);

/*
 * Appends what was joined to the batch, by begin: kernel spans from the first begin to the last
 * end, with ids and parent of the longest one. A wait is called as the part that has most of its
 * time. Attributes are in the pool. 0 or -ENOMEM.
 */
int states_put(struct states *s, struct received_batch *batch);

/* Forgets what was joined. */
void states_clear(struct states *s);
void states_free(struct states *s);

#endif
