/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of one trace as a tree. */
#ifndef CLI_TRACE_TREE_H
#define CLI_TRACE_TREE_H

#include "answer/trace.h"

#define TRACE_TREE_NONE UINT32_MAX

/* Each array has an element for each span, and refers to spans by their index in the trace. */
struct trace_tree {
	const struct trace *trace;
	uint32_t *order; /* by begin: siblings are linked in this order */
	uint32_t *parent;
	uint32_t *first_child;
	uint32_t *next_sibling;
	bool *shown;
	uint64_t begin_ns;
	uint64_t end_ns;
};

/*
 * Builds the tree, with siblings in order of their begin. Parents can form a circle, which has no
 * root. The trace is borrowed. 0, or -ENOMEM with nothing to free.
 */
int trace_tree_build(struct trace_tree *tree, const struct trace *trace);
void trace_tree_free(struct trace_tree *tree);

#endif
