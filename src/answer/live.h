/* SPDX-License-Identifier: Apache-2.0 */
/* A short time of a recording that goes on, summed up in several ways at once. */
#ifndef ANSWER_LIVE_H
#define ANSWER_LIVE_H

#include "answer/filter.h"
#include "answer/load.h"
#include "answer/rows.h"
#include "answer/source.h"

struct live_part {
	const char *by;		/* the name of a grouping */
	const char *sort;	/* the order of the rows */
	const struct row *rows; /* sorted */
	size_t rows_count;
};

/* Plain values, borrowed. */
struct live {
	uint64_t from_ns, to_ns;
	struct source_view source;
	const struct live_part *parts;
	size_t parts_count;
};

/* The caller's names of processes and threads that the recording has no name for. */
struct live_names {
	/* Writes the name of a thread, or with tid 0 of a process. False: it is unknown. */
	bool (*find)(void *arg, uint32_t pid, uint32_t tid, char name[32]);
	void *arg;
};

#define LIVE_PARTS_MAX 4

/* The parts of a live view, and what they point to. Start with all zero. */
struct live_rows {
	struct rows rows[LIVE_PARTS_MAX]; /* owned */
	struct live_part parts[LIVE_PARTS_MAX];
	size_t count;
};

/* The choice of a part. The texts live as long as the part. */
struct live_choice {
	const char *by;	  /* as grouping_make() reads it */
	const char *sort; /* NULL: the default order */
	struct filter filter;
};

/* Whether rows by these keys are of requests: the source needs kernel spans, and byte ranges. */
bool live_is_of_requests(const char *by);

/*
 * Adds a part, without the rows that took no time: those ended before, or slept all the time. 0,
 * -EINVAL for an unknown grouping or order, or if the filter does not suit it, -ENOSPC, or -ENOMEM.
 */
int live_rows_add(struct live_rows *out, const struct source *source,
		  const struct live_choice *choice, const struct live_names *names);

/* Takes the last part away. */
void live_rows_drop(struct live_rows *rows);

/* The view, which borrows the source and the rows. */
struct live live_of(const struct source *source, const struct live_rows *rows);

void live_rows_free(struct live_rows *rows);

#endif
