/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a finished partial: which a choice takes, and how they become spans. */
#ifndef ANSWER_TRACES_H
#define ANSWER_TRACES_H

#include "answer/filter.h"
#include "answer/source.h"
#include "answer/trace.h"
#include "map/tree/tree.h"

/* Which traces an answer has, and which of their spans. Texts are borrowed. */
struct trace_choice {
	const char *trace_id; /* 32 hex digits; NULL: any */
	const char *name;     /* a glob that the name of an application's span matches; NULL: any */
	const char *service;  /* that a span is of; NULL: any */
	size_t slowest;	      /* only so many, the longest first; 0: all, in the tree's order */
	size_t limit;	      /* at most so many; 0: all */
	u64 min_ns;	      /* leave out shorter spans, unless they enclose longer ones */
	bool threads;	      /* also what each thread did outside of spans */
	/*
	 * Only spans of these processes and threads, and traces that have such a span. Of calls and
	 * files: only such calls, with what is above and below them. Its name and service are not
	 * used.
	 */
	struct filter filter;
};

/* A finished partial and its trees. */
struct forest {
	const struct partial *p;
	const struct tree *tree;
	const char *host; /* the host of its spans; NULL: unknown */
	bool several;	  /* the answer is of several hosts, and each trace tells its own */
	const struct clock_view *clocks; /* of the host, in the order of time */
	size_t clocks_count;
};

/* Ids of traces, sorted. Start with all zero; free with vec_free(). */
struct trace_ids {
	u8 (*data)[16];
	size_t count, capacity;
};

/* Adds the ids of the chosen traces. 0 or -ENOMEM. */
int trace_choose(const struct forest *forest, const struct trace_choice *choice,
		 struct trace_ids *ids);

/*
 * Gives the chosen traces to a sink, one by one; *given gets their number. 0, -ENOMEM, or what the
 * sink returned.
 */
int trace_build(const struct forest *forest, const struct trace_choice *choice,
		const struct trace_sink *to, size_t *given);

#endif
