/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the trees of a finished partial to the traces that are shown.
 */
#ifndef ANSWER_TRACES_H
#define ANSWER_TRACES_H

#include "answer/trace.h"
#include "map/tree/tree.h"

/* Which traces are shown, of those that a tree has. */
struct trace_choice {
	const char *trace_id; /* 32 hex digits, or NULL */
	const char *name;     /* glob over the names of spans, or NULL */
	const char *service;  /* NULL: any */
	size_t slowest;	      /* not 0: only so many, the longest first */
	u32 pid, tid;	      /* not 0: only spans of these, and traces that have one */
	const char *host;     /* name of the host */
};

/* Ids of traces, sorted. Start with all zero; free with vec_free(). */
struct trace_ids {
	u8 (*data)[16];
	size_t count, capacity;
};

/* Adds the ids of the traces of a tree that would be written. 0 or -ENOMEM. */
int trace_choose(const struct partial *p, const struct tree *tree,
		 const struct trace_choice *choice, struct trace_ids *ids);

/*
 * Gives the chosen traces of a tree to a sink, one by one. *given gets their number. 0, -ENOMEM, or
 * what the sink returned.
 */
int trace_build(const struct partial *p, const struct tree *tree, const struct trace_choice *choice,
		const struct trace_sink *to, size_t *given);

#endif
