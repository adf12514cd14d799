/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spans of the last 15 minutes: which of them repeat, and which service called which.
 *
 * What a transaction brings is kept apart until it is committed, so that what was abandoned comes
 * from the log again. The memory is bounded: at most KNOWN_SPANS_MAX ids are known in each
 * five minutes, at 15 bytes each, and the oldest go first where more come.
 */
#ifndef STORE_KNOWN_H
#define STORE_KNOWN_H

#include "base/map.h"
#include "base/vec.h"
#include "store/known_ids.h"
#include "store/told.h"

#define KNOWN_SPANS_MAX 1390000u   /* what fits into 2^21 places (known_ids.h) */
#define KNOWN_VERSIONS_MAX 100000u /* of spans with a version, in each of two times */
#define KNOWN_WAITING_MAX 100000u  /* spans whose parent is not known, in each of two times */
#define KNOWN_AGES 4

/* What a span with a version added to the sums. */
struct known_version {
	uint64_t version, operation, begin_ns, duration_ns;
	bool is_error, measured;
	struct split time;
	uint32_t stands_for;
};

/* A call between two services. */
struct known_call {
	const char *parent, *child; /* live as long as the known spans */
	uint64_t begin_ns, duration_ns;
	uint32_t stands_for; /* as that of struct told */
	bool is_error;
};

struct known_span;

struct known {
	struct known_ids ages[KNOWN_AGES]; /* the newest first */
	struct known_ids fresh;		   /* since the last commit */
	uint64_t turn_ns;		   /* when the newest age ends, by the monotonic clock */
	unsigned int turns;
	struct map versions[2], fresh_versions;
	struct map waiting[2];
	VEC(struct known_span) spans; /* since the last commit */
	struct bytes_map services;    /* numbers of services */
	VEC(const char *) names;      /* of the services, by number - 1 */
};

enum known_answer {
	KNOWN_NEW,     /* store it, and add it to the sums */
	KNOWN_REPEAT,  /* it is there already, in this version or in a higher one */
	KNOWN_REPLACE, /* store it; `old` goes out of the sums */
	KNOWN_UNSURE,  /* store it, and leave the sums alone: what is in them is forgotten */
};

/* Asks about a span, which is known after the next commit. A negative errno: -ENOMEM. */
int known_ask(struct known *k, const struct received_span *span, const struct told *told,
	      struct known_version *old);

/* Whether a lower version of the span, or of its context, is known. It may say so by mistake. */
bool known_has_older(const struct known *k, const struct received_span *span,
		     const struct told *told);

/* The operation in the sums of a span with a version, of which known_ask() gave no KNOWN_REPEAT. */
int known_version_put(struct known *k, const struct received_span *span, const struct told *told,
		      uint64_t operation);

/*
 * Finds the calls that follow from what came since the last commit. Once for each commit.
 * 0, an error of `take`, or -ENOMEM.
 */
int known_calls(struct known *k, int (*take)(void *arg, const struct known_call *call), void *arg);

void known_committed(struct known *k);
void known_abandoned(struct known *k);

/* Operations get other numbers: a new version of what is known leaves the sums alone. */
void known_versions_forget(struct known *k);

void known_free(struct known *k);

#endif
