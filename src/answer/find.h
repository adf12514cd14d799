/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a choice, from recordings: which they are, and what their spans did. */
#ifndef ANSWER_FIND_H
#define ANSWER_FIND_H

#include "answer/sources.h"
#include "answer/traces.h"

/* The answer. It must not be copied or moved: the sources point into it. */
struct traces {
	struct sources sources;
	struct trace_choice choice; /* borrows the texts of the caller's choice */
	struct kspan_filter only;   /* the spans of the kernel that the sources have */
	struct trace_ids ids;	    /* the traces that these belong to; none: all */
	VEC(struct tree) trees;	    /* the trees of each source */
};

/*
 * Loads what the traces of a choice need. `from` says which recordings and which range; its `spans`
 * and `only` are set here. A recording that has spans of applications is read twice, unless the
 * choice is one trace id, all traces, a process or a thread: the first reading finds the traces,
 * the second keeps only what their spans did in the kernel, so that it fits into the memory.
 * Notices are told once. Each host has its own traces, and options->slowest of each are taken. 0 or
 * a negative errno with the causes. Free with traces_free() in any case.
 */
int traces_load(const struct source_options *from, const struct trace_choice *choice,
		struct traces *out, struct error *e);

/*
 * Gives the traces to a sink, one by one, host by host; *given gets their number. It can be called
 * again. 0, -ENOMEM, or what the sink returned.
 */
int traces_give(const struct traces *traces, const struct trace_sink *to, size_t *given);

void traces_free(struct traces *traces);

#endif
