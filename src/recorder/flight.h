/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that a flight recorder keeps besides the rings of the CPUs. The rings
 * overwrite their oldest records; the others are kept here, the newest of them, in
 * bounded memory. For one thread.
 */
#ifndef RECORDER_FLIGHT_H
#define RECORDER_FLIGHT_H

#include "base/error.h"
#include "capture/capture.h"

struct flight;

/* NULL if out of memory. */
struct flight *flight_new(void);
void flight_free(struct flight *f); /* NULL is allowed */

/* Callbacks for a capture_sink, which keep a copy of the record. `arg` is the struct flight. */
int flight_record(void *arg, const struct capture_stream *s, const struct record_head *r);
int flight_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost);

/*
 * Copies the contents of the rings. They are complete from *from_ns (0: from the begin
 * of the recording) to *cut_ns. 0 or a negative errno.
 */
int flight_take(struct flight *f, struct capture *c, u64 *from_ns, u64 *cut_ns, struct error *e);

/*
 * Hands all records since from_ns to a sink: first the state at that time, with
 * the time from_ns, and then what happened. Call it once for each flight_take(). 0 or a
 * negative errno.
 */
int flight_write(struct flight *f, struct capture *c, u64 from_ns, const struct capture_sink *to,
		 struct error *e);

#endif
