/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a process that hold until another one replaces them, and are recorded only once: its
 * service, that its spans are followed, its mapped files, and the files of its io_uring slots.
 */
#ifndef RECORDER_FLIGHT_LASTING_H
#define RECORDER_FLIGHT_LASTING_H

#include "base/map.h"
#include "recorder/flight_kept.h"

/* Start with all zero. */
struct flight_lasting {
	struct kept_list kept;
	struct map slot_sockets;	    /* keys of sockets among the files of slots */
	u64 forgotten[RECORD_KIND_MAX + 1]; /* records that did not fit, by kind */
};

void flight_lasting_free(struct flight_lasting *l);

/* True if a record belongs here. */
bool flight_lasting_wants(const struct flight_lasting *l, const struct record_head *r);

/* Keeps a copy. If it does not fit, the oldest half is dropped first. 0 or -ENOMEM. */
int flight_lasting_add(struct flight_lasting *l, const struct capture_stream *s,
		       const struct record_head *r);

/*
 * Hands all records to the sink, with the time from_ns or later, and the dropped ones as losses. 0
 * or the result of the sink.
 */
int flight_lasting_write(const struct flight_lasting *l, u64 from_ns,
			 const struct capture_sink *to);

#endif
