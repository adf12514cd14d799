/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of records in the order in which they came; zeros are none. Not thread-safe. */
#ifndef RECORDER_FLIGHT_KEPT_H
#define RECORDER_FLIGHT_KEPT_H

#include "base/vec.h"
#include "capture/capture.h"

struct kept {
	struct capture_stream stream;
	struct record_head *record; /* owned */
};

struct kept_list {
	VEC(struct kept) list;
	size_t bytes; /* of records */
};

void kept_free(struct kept_list *l);

/* Appends a copy. 0 or -ENOMEM. */
int kept_add(struct kept_list *l, const struct capture_stream *s, const struct record_head *r);

/* Frees the first `count` records. */
void kept_drop(struct kept_list *l, size_t count);

/*
 * Leaves those for which `stays` is not 0; it is asked in their order, or from the last one on.
 * The order stays.
 */
void kept_filter(struct kept_list *l, bool backwards,
		 bool (*stays)(void *arg, const struct record_head *r), void *arg);

/* Hands them over as if they had been seen at from_ns, if it was before. What the sink says. */
int kept_write(const struct kept_list *l, u64 from_ns, const struct capture_sink *to);

/* Hands a record to the sink with another time. */
int kept_restamp(const struct capture_sink *to, const struct capture_stream *s,
		 const struct record_head *r, u64 time_ns);

/* What is there of a record, as capture_sink says: whole slots. */
static inline size_t kept_bytes(const struct record_head *r)
{
	return (size_t)r->slots * RECORD_SLOT_BYTES;
}

#endif
