/* SPDX-License-Identifier: Apache-2.0 */
/* Records outside the time at which all streams of a chunk are there: see uneven_cut.c. */
#ifndef MAP_UNEVEN_CUT_H
#define MAP_UNEVEN_CUT_H

#include <stdbool.h>

#include "base/vec.h"
#include "record/record.h"

struct partial;

struct raw_record {
	struct record_head *record; /* whole; owned */
	u32 bytes;
	u32 number;   /* while they are sorted: where it stood */
	bool earlier; /* it happened before the time that it has now */
};

struct raw_records {
	VEC(struct raw_record) list; /* once sorted: by time, CPU, order */
	bool unsorted;
};

/* Makes a record of raw->bytes bytes that may be anything. 0, -EBADMSG or -ENOMEM. */
int raw_read(struct raw_record *raw, const char *data);

/* Keeps a copy of the record, with this time. 0 or -ENOMEM. */
int uneven_cut_keep(struct partial *p, const struct record_head *r, u64 time_ns);

/*
 * Applies what both partials kept and now can be applied, before their bodies are merged; what was
 * missing at the end of the left one has ended then. 0 or -ENOMEM.
 */
int uneven_cuts_merge(struct partial *left, struct partial *right);

/* The body: the time at which all streams are there; of even cuts all of the partial. */
void uneven_cut_body(const struct partial *p, u64 *from_ns, u64 *to_ns);

/* Applies what is kept of [from_ns, to_ns), and keeps it no longer. 0 or -ENOMEM. */
int uneven_cut_apply(struct partial *p, u64 from_ns, u64 to_ns);

/* The same of records that no neighbour will complete: there they hold from clamp_ns on. */
int uneven_cut_apply_outside(struct partial *p, u64 from_ns, u64 to_ns, u64 clamp_ns);

/* Applies what is kept of the time behind the body, which no neighbour will complete. */
int uneven_cut_apply_tail(struct partial *p, u64 body_to_ns);

/*
 * Tells at the end of the body what is missing there: records that wait go on with it. 0 or
 * -ENOMEM.
 */
int uneven_cut_cut_holes(struct partial *p);

/* Whether records may come, or wait, that lie before the end of the partial. */
bool uneven_cut_is_open(const struct partial *p);

/* Puts what waits into the order in which it is applied. */
void uneven_cuts_sort(struct partial *p);

void uneven_cuts_free(struct partial *p);

#endif
