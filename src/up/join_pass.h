/* SPDX-License-Identifier: Apache-2.0 */
/* One pass of the joiner (up/joiner.h): claims and chunks in, threads and times out. */
#ifndef UP_JOIN_PASS_H
#define UP_JOIN_PASS_H

#include "chunk/chunk.h"
#include "map/meters.h"
#include "map/partial.h"
#include "serve/claim.h"
#include "up/joined.h"
#include "up/nest.h"

#define JOIN_CHILDREN_MAX 2000u	       /* kernel spans of a span */
#define JOIN_CHILDREN_TOTAL_MAX 65536u /* and of all spans of a pass */

struct join_claim {
	struct claim claim;   /* its texts follow this struct, or are static */
	struct nested nested; /* times of the monotonic clock */
	u32 tid;	      /* that it names, and may have been one of the process; 0: none */
	bool done;	      /* of an earlier pass: it only says who had the thread */
	bool was_ambiguous;   /* then */
	u64 came_ns;	      /* monotonic: when it came */
	/* the outcome */
	enum joined joined;
	u32 thread; /* that had it; 0: not known */
	u32 owner;  /* the same, also where other spans had it at once */
	struct split split;
	VEC(struct kspan) children;
	u64 more_count, more_ns;
};

/* What is mapped: the state before the first chunk, and the chunks. */
struct join_range {
	const struct bytes *state; /* NULL: none */
	u64 state_end_ns;
	const struct chunk_info *const *chunks;
	size_t chunks_count;
	/* Kernel spans under the context of a claim are its own, whatever thread had it. */
	bool by_context;
};

/* What was mapped. Starts with all zero. */
struct join_mapped {
	u64 chunks;		 /* how many; they add up */
	struct partial *partial; /* finished; it is the caller's. NULL: there is none */
};

/*
 * Finds the threads of the claims, and their times. 0, or a negative errno: nothing is said then.
 */
int join_pass(struct join_claim *const *claims, size_t count, const struct join_range *range,
	      struct join_mapped *mapped);

#endif
