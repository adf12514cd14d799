/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flight recorder keeps beside the rings of the CPUs: records that do
 * not lie in a ring that overwrites, the newest of them, in bounded memory.
 */
#ifndef RECORDER_FLIGHT_H
#define RECORDER_FLIGHT_H

#include "base/error.h"
#include "capture/capture.h"

struct flight;

/* NULL if memory ran out. */
struct flight *flight_new(void);
void flight_free(struct flight *f); /* NULL is fine */

/* The callbacks of a capture_sink: keep a copy. `arg` is the struct flight. */
int flight_record(void *arg, const struct capture_stream *s, const struct record_head *r);
int flight_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost);

/*
 * Takes what the rings hold. *from_ns gets since when nothing is missing (0:
 * since the begin), *cut_ns until when. 0 or a negative errno.
 */
int flight_take(struct flight *f, struct capture *c, u64 *from_ns, u64 *cut_ns, struct error *e);

/*
 * Hands everything since from_ns to a sink: what is true at its begin
 * (it has the time from_ns then), and what happened. Once for each flight_take().
 */
int flight_write(struct flight *f, struct capture *c, u64 from_ns, const struct capture_sink *to,
		 struct error *e);

#endif
