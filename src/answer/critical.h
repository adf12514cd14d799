/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a request as values: what it waited for at each instant, also in words. */
#ifndef ANSWER_CRITICAL_H
#define ANSWER_CRITICAL_H

#include "answer/requests.h"
#include "answer/span_builder.h"
#include "base/json.h"

/* A thread as users see it. Texts live as long as the answer. */
struct critical_who {
	const char *process; /* its comm */
	const char *name;    /* its service if it takes part in requests, else its program */
	u32 pid, tid;	     /* 0: not known */
};

struct critical_row {
	u64 begin_ns, end_ns;  /* by the clock of the host of the request */
	u64 least_ns, most_ns; /* its length, which differ where it begins and ends on two hosts */
	const char *host;      /* NULL: not known */
	struct critical_who who;
	char span_id[SPAN_ID_BYTES]; /* the span that waited for it */
	const char *state;	     /* "running", "busy", "runnable", "waiting", ... */
	const char *cause;	     /* "cpu", "queue", or a part of a time split */
	struct critical_who by;	     /* who had the CPU meanwhile; name NULL: not known */
	/* A sentence: "redis-server (pid 5)", "waited", "for a CPU, which nginx (pid 7) had". */
	const char *subject, *verb, *rest;
};

/* Starts with all zero. */
struct critical_answer {
	char trace_id[TRACE_ID_BYTES];
	char span_id[SPAN_ID_BYTES];
	const char *name; /* what served: "nginx:80" */
	u64 begin_ns, end_ns;
	VEC(struct critical_row) rows; /* in the order of time; they sum to the duration */
	struct span_builder builder;   /* owns the texts */
};

/*
 * The critical path of a request by its trace id of 32 digits, or of a call by the span id of 16
 * digits. -ENOENT: the answer has none with this id. 0 or -ENOMEM; free `out` in any case.
 */
int critical_answer_make(const struct request_answer *a, const char *id,
			 struct critical_answer *out);
void critical_answer_free(struct critical_answer *out);

/* Writes the members of who it is into an object that was begun. */
void critical_who_write_json(struct json *j, const struct critical_who *who);

/* Writes the rows as the array `critical` of the object that was begun last. */
void critical_write_json(struct json *j, const struct critical_answer *a);

/* The longest row, by its number; the first of several. There must be one. */
size_t critical_longest(const struct critical_answer *a);

#endif
