/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays true of a process until something else is said, and is told once: its service, that
 * it is followed, the files that it maps, and those of its io_urings' slots.
 */
#ifndef RECORDER_FLIGHT_LASTING_H
#define RECORDER_FLIGHT_LASTING_H

#include "base/map.h"
#include "recorder/flight_kept.h"

/* Zeros are none. */
struct flight_lasting {
	struct kept_list kept;
	struct map slot_sockets;	    /* keys of sockets among the files of slots */
	u64 forgotten[RECORD_KIND_MAX + 1]; /* what did not fit, by kind */
};

void flight_lasting_free(struct flight_lasting *l);

/* True for a record that is to be kept here. */
bool flight_lasting_wants(const struct flight_lasting *l, const struct record_head *r);

/* Keeps a copy; what does not fit drops the oldest half. 0 or -ENOMEM. */
int flight_lasting_add(struct flight_lasting *l, const struct capture_stream *s,
		       const struct record_head *r);

/* Tells the sink all of it, as of from_ns or later, and what was forgotten. */
int flight_lasting_write(const struct flight_lasting *l, u64 from_ns,
			 const struct capture_sink *to);

#endif
