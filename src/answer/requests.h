/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as an answer: loads recordings, follows the requests in them (request/requests.h), and
 * gives those of a choice as traces, and as rows.
 */
#ifndef ANSWER_REQUESTS_H
#define ANSWER_REQUESTS_H

#include "answer/container_names.h"
#include "answer/request_events.h"
#include "answer/rows.h"
#include "answer/sources.h"
#include "answer/trace.h"
#include "request/requests.h"

/* Which requests an answer has. Texts are borrowed. */
struct request_choice {
	const char *trace_id; /* 32 hex digits; NULL: any */
	const char *through;  /* a service that one of its spans is of; NULL: any */
	size_t slowest;	      /* only so many, the longest first; 0: all, by begin */
	bool errors;	      /* only requests in which a call got no answer */
	bool all;	      /* also streams, and calls that belong to no request */
	bool kernel;	      /* also what the kernel did for each request */
	bool brief;	      /* one span for an exchange, as text views show it */
	u32 min_probability_ppm;
};

/* The answer. It must not be copied or moved: the sources point into it. */
struct request_answer {
	struct sources sources;
	VEC(struct request_host) hosts; /* of the sources */
	struct requests requests;
	VEC(struct clock_offset_view) offsets; /* between the hosts */
	struct request_events events;
	struct container_names containers; /* of this machine */
};

/*
 * Loads what requests need; `spans` and `sums` of the options are set here. 0 or a negative errno
 * with the causes. Free it in any case.
 */
int request_answer_load(const struct source_options *from, u32 min_probability_ppm,
			struct request_answer *out, struct error *e);

/* The same of sources that are loaded with their kernel spans, which it does not free. */
int request_answer_of(const struct sources *sources, u32 min_probability_ppm,
		      struct request_answer *out);
void request_answer_free(struct request_answer *a);

/* What a choice left out, and what it gave. */
struct request_counts {
	size_t given;
	size_t requests;	/* that the recordings have */
	size_t streams, inside; /* bursts of streams, and calls for no request */
};

/*
 * Gives the traces of a choice one by one. The spans of a trace may be of several hosts, each of
 * which tells its own. 0, -ENOMEM, or what the sink returned.
 */
int request_answer_give(const struct request_answer *a, const struct request_choice *choice,
			const struct trace_sink *to, struct request_counts *counts);

#endif
