/* SPDX-License-Identifier: Apache-2.0 */
/* A report: its rows, and what every answer carries. */
#ifndef ANSWER_REPORT_H
#define ANSWER_REPORT_H

#include "answer/grouping.h"
#include "answer/rows.h"
#include "answer/sources.h"

/* Plain values, borrowed. */
struct report {
	const char *by;		   /* one key or two, as in struct grouping */
	const struct key *keys[2]; /* the same; NULL: unknown */
	uint64_t from_ns;	   /* of one host; 0 of several, whose clocks differ */
	uint64_t to_ns;
	struct source_view source;
	size_t hosts;		/* that the rows tell; 0: the answer is of one host */
	const char *sort;	/* the order of the rows */
	const struct row *rows; /* sorted */
	size_t rows_count;
	size_t rows_total; /* of which the limit left these */
	/*
	 * The rest of the host in short, below the spans of applications that were not asked for:
	 * the first processes, by time on a CPU. NULL: there is none.
	 */
	const struct row *rest;
	size_t rest_count;
	size_t rest_total;
};

/* The choice of a report. */
struct report_choice {
	const char
		*by; /* a key, or two, as grouping_make() reads; NULL: what suits the recording */
	const char *sort; /* NULL: the default of the grouping */
	size_t limit;	  /* at most so many rows; 0: all */
	/* Scale rows of calls from the time in which calls were recorded to all of the time. */
	bool scale;
	struct filter filter;
	const struct profile_choice *profile; /* of rows of functions; NULL: what ran on CPUs */
};

/* What the sums of the sources must tell apart for that report. */
struct sum_choice report_sums(const struct report_choice *choice);

/*
 * Whether the sources must have their kernel spans for it, since it is of requests. By service that
 * is known once they are loaded: NULL before.
 */
bool report_wants_spans(const struct report_choice *choice, const struct sources *sources);

/*
 * Makes the report of loaded recordings, in which rows of different hosts stay apart. It borrows
 * the sources, the choice and `rows`, which is freed with rows_free() in any case. 0; -EINVAL for
 * an unknown grouping or order; -ENOMEM.
 */
int report_make(struct report *out, struct rows *rows, const struct sources *sources,
		const struct report_choice *choice);

#endif
