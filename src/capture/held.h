/* SPDX-License-Identifier: Apache-2.0 */
/* Records that are held back, since they are later than a cut. Not thread-safe. */
#ifndef CAPTURE_HELD_H
#define CAPTURE_HELD_H

#include "base/vec.h"
#include "capture/capture.h"

struct held_record {
	struct capture_stream stream;
	struct record_head *record; /* owned */
};

/* Starts with all zero. */
struct held_records {
	VEC(struct held_record) list; /* in the order of arrival */
};

/* Returns 0, or a negative errno, which ends the delivery. The record counts as delivered. */
typedef int held_deliver_fn(void *arg, const struct capture_stream *stream,
			    const struct record_head *r);

/* Keeps a copy. 0 or -ENOMEM. */
int held_add(struct held_records *held, const struct capture_stream *stream,
	     const struct record_head *r);

/*
 * Delivers the records that are not later than `until_ns`; the others stay. Returns the result of
 * the last call of `deliver`.
 */
int held_deliver(struct held_records *held, u64 until_ns, held_deliver_fn *deliver, void *arg);

void held_free(struct held_records *held);

#endif
