/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as text: the waterfall of `fathom trace`. */
#ifndef CLI_TRACE_TEXT_H
#define CLI_TRACE_TEXT_H

#include "answer/source.h"
#include "answer/trace.h"
#include "cli/terminal.h"

/* The state of a text in the making. */
struct trace_text {
	struct terminal t;
	const struct source_view *source; /* borrowed until the end */
	size_t traces;
	char date[16];		      /* of the last trace, which is written if it changes */
	bool used[SPLIT_PARTS_COUNT]; /* parts that the legend explains */
	int label;		      /* columns of the names of the trace that is written */
};

/* Begin, any number of traces, end. */
void trace_text_begin(struct trace_text *w, const struct terminal *t,
		      const struct source_view *source);
/* 0, or -ENOMEM with a part of the trace written. */
int trace_text_write(struct trace_text *w, const struct trace *trace);
void trace_text_end(struct trace_text *w);

#endif
