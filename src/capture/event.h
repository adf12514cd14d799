/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracepoints of capture_options.events. Like the rest of capture: for
 * one thread, 0 or a negative errno. A capture without events does nothing here.
 */
#ifndef CAPTURE_EVENT_H
#define CAPTURE_EVENT_H

#include "capture/capture.h"

/* Before the programs are loaded: finds the events. -ENOENT for one that is not there. */
int capture_events_open(struct capture *c, const struct capture_options *options, struct error *e);

/* Once they are loaded. */
int capture_events_attach(struct capture *c, struct error *e);
void capture_events_detach(struct capture *c);
void capture_events_close(struct capture *c);

/* Hands the formats to the sink, once, and once more after each tell_again. */
int capture_events_tell(struct capture *c, const struct capture_sink *sink);
void capture_events_tell_again(struct capture *c);

/* Events that the kernel skipped since the last call. */
u64 capture_events_missed(struct capture *c);

#endif
