/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells two sets of spans of an operation apart: each kind of time, each place beneath them,
 * each operation that they call, and each attribute, with what it explains of the difference of
 * their mean durations.
 */
#ifndef SERVE_COMPARE_H
#define SERVE_COMPARE_H

#include "base/map.h"
#include "serve/gather.h"

enum difference_kind {
	DIFFERENCE_PART,      /* a part of the time, in whichever span; the value is its name */
	DIFFERENCE_PLACE,     /* where kernel spans beneath wait; the key is the part */
	DIFFERENCE_CALL,      /* an operation beneath; the key is the service */
	DIFFERENCE_ATTRIBUTE, /* of the span or its resource, with its value */
	DIFFERENCE_OWN,	      /* own time of an operation in a part, the key; with its service */
};

#define DIFFERENCE_BINS 44 /* the last one has what is longer than two hours, too */

/* Of one side: 0 is the set that is looked at, 1 is that to which it is compared. */
struct difference_side {
	uint64_t count;	   /* spans that have it */
	uint64_t total_ns; /* their time in it; of an attribute, their durations */
	double mean_ns;	   /* what a span of the side has; of an attribute, their mean duration */
	/* spans by what each has of it: bin i from 2^i ns on, but less than 2^(i+1) */
	uint32_t bins[DIFFERENCE_BINS];
};

struct difference {
	enum difference_kind kind;
	const char *key, *value; /* in the pool */
	const char *service;	 /* the same, of DIFFERENCE_OWN; else "" */
	struct difference_side sides[2];
	double explains_ns; /* of the difference of the means */
	uint64_t last;	    /* the last subject that was counted, */
	uint64_t last_ns;   /* what it has so far, */
	unsigned int side;  /* and its side */
};

struct compared_side {
	uint64_t spans, total_ns;
	uint64_t measured; /* spans that have a split, or one beneath; parts refer to them */
	uint64_t detailed; /* spans with kernel spans, which tell places */
	bool is_partial;   /* the time was over before all spans, and what is beneath, were added */
};

struct comparison {
	struct pool *pool;
	struct bytes_map rows; /* places in `list` + 1 */
	VEC(struct difference) list;
	struct compared_side sides[2];
	uint64_t subject; /* the number of that which is being added */
};

/*
 * Adds the subjects of a side, or as many as the time allows; `without`: those that this query
 * takes are left out; NULL: none are. 0 or -ENOMEM.
 */
int comparison_add(struct comparison *c, unsigned int side, const struct gathered *g,
		   const struct gather_query *without);

/* Calculates what each explains, and sorts by it, the most first. */
void comparison_finish(struct comparison *c);

void comparison_free(struct comparison *c);

#endif
