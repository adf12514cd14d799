/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans of a trace an answer shows: those that pass its filter and are not too short. */
#ifndef ANSWER_TRACE_SHOWN_H
#define ANSWER_TRACE_SHOWN_H

#include "answer/span_builder.h"
#include "answer/traces.h"

/* The nodes [first, end) of the tree, in its order. */
struct trace_nodes {
	const struct tree *tree;
	size_t first, end;
};

/* Start with all zero. */
struct trace_shown {
	VEC(u32) list; /* places of the spans that are shown, from the first node on */
	size_t left_out;
	u64 left_out_ns;	/* of those that no other one of these encloses */
	struct filter_use *use; /* owned */
};

/*
 * Finds the spans that are shown. If only some calls or a range of time are asked for, the spans
 * above these and below them are shown, too. The builder makes spans, if their files are asked for.
 * 0 or -ENOMEM.
 */
int trace_shown_find(struct trace_shown *shown, struct span_builder *builder,
		     const struct trace_choice *choice, const struct trace_nodes *nodes);
void trace_shown_free(struct trace_shown *shown);

/* Whether the name of an application's span fits a pattern: its id, if only its context was seen.
 */
bool span_name_fits(const struct app_span *span, const char *pattern);

#endif
