/* SPDX-License-Identifier: Apache-2.0 */
/* A list of copies of records, in order of arrival. Start with all zero. Not thread-safe. */
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
	size_t bytes; /* of the records */
};

void kept_free(struct kept_list *l);

/* Appends a copy. 0 or -ENOMEM. */
int kept_add(struct kept_list *l, const struct capture_stream *s, const struct record_head *r);

/* Frees the first `count` records. */
void kept_drop(struct kept_list *l, size_t count);

/*
 * Removes the records for which `stays` returns false. It is called from the first record to the
 * last, or backwards. The order of the others does not change.
 */
void kept_filter(struct kept_list *l, bool backwards,
		 bool (*stays)(void *arg, const struct record_head *r), void *arg);

/*
 * Hands the records to a sink. Those older than from_ns get that time. Returns the result of the
 * sink.
 */
int kept_write(const struct kept_list *l, u64 from_ns, const struct capture_sink *to);

/* Hands a record to the sink with another time. Returns the result of the sink. */
int kept_restamp(const struct capture_sink *to, const struct capture_stream *s,
		 const struct record_head *r, u64 time_ns);

/* The bytes of a record, which are whole slots (capture_sink). */
static inline size_t kept_bytes(const struct record_head *r)
{
	return (size_t)r->slots * RECORD_SLOT_BYTES;
}

#endif
