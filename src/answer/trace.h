/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trace of an answer. Its spans are made one by one when they are asked for, so that a
 * recording with millions of spans fits into the memory.
 */
#ifndef ANSWER_TRACE_H
#define ANSWER_TRACE_H

#include "answer/source.h"
#include "span/span.h"

/* The place of a span in its trace, which is cheaper to know than the span. */
struct span_position {
	uint64_t id, parent; /* parent 0: a root */
	uint64_t begin_ns, end_ns;
	bool kernel;	  /* a syscall, wait, fault or request: it has no service */
	int64_t shift_ns; /* of a span of another host: to get the clock of the trace's first span
			   */
};

/*
 * A trace that several hosts have a part in is one on each: their clocks differ. That of a request
 * is one over all hosts: each span has the times of its host.
 */
struct trace {
	char trace_id[TRACE_ID_BYTES]; /* "": what a thread did outside of spans */
	const char *host;	       /* NULL: the answer is of one host */
	size_t spans_count;
	/* Spans that the choice leaves out as too short: their number, and the time of the outer
	 * ones. */
	size_t left_out;
	uint64_t left_out_ns;
	const struct clock_view *clocks; /* of the host of the spans */
	size_t clocks_count;
	struct span_position (*position)(const struct trace *trace, size_t index);
	/*
	 * The span at `index`, valid until the next call. `brief` leaves out attributes, events
	 * and frames; a brief span of the kernel has only a name, a time split and a process.
	 * NULL: the memory ran out.
	 */
	const struct span *(*span)(const struct trace *trace, size_t index, bool brief);
	void *maker; /* the state of the two functions */
};

/* Takes the traces of an answer one after the other. */
struct trace_sink {
	/* 0, or a negative errno, which ends the answer. The trace is valid during the call. */
	int (*take)(void *arg, const struct trace *trace);
	void *arg;
};

#endif
