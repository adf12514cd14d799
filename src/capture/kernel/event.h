/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracepoints of capture_options.events. Like the rest of capture: for
 * one thread, 0 or a negative errno. A capture without events does nothing here.
 */
#ifndef CAPTURE_KERNEL_EVENT_H
#define CAPTURE_KERNEL_EVENT_H

#include "capture/capture.h"

struct bpf_link;
struct programs;

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

/*
 * Interrupts between CPUs, told apart only for events of the whole host
 * (vectors.c). What this kernel lacks of them is left out.
 */
#define CAPTURE_VECTOR_PROGRAMS 6

/* Before the programs are loaded. */
void capture_vectors_choose(struct programs *programs, bool wanted);
/* 0 or a negative errno; what is in `links` is for capture_vectors_detach() in either case. */
int capture_vectors_attach(struct programs *programs, struct bpf_link **links, struct error *e);
void capture_vectors_detach(struct bpf_link **links);

#endif
