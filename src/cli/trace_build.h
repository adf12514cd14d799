/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the trees of a finished partial to the traces that are shown.
 */
#ifndef CLI_TRACE_BUILD_H
#define CLI_TRACE_BUILD_H

#include "cli/trace_view.h"
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

/* Where they go; begun and ended by the caller. */
struct trace_output {
	const struct trace_format *format;
	struct trace_writer *writer;
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
 * Writes the chosen traces of a tree. `*written` gets how many. 0 or -ENOMEM.
 */
int trace_build(const struct partial *p, const struct tree *tree, const struct trace_choice *choice,
		const struct trace_output *to, size_t *written);

#endif
