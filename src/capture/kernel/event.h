/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracepoints of capture_options.events. For one thread; functions return 0 or a negative
 * errno, and do nothing in a capture without events.
 */
#ifndef CAPTURE_KERNEL_EVENT_H
#define CAPTURE_KERNEL_EVENT_H

#include "capture/capture.h"

struct bpf_link;
struct programs;

/* Before the programs are loaded: finds the events. -ENOENT if the kernel lacks one of them. */
int capture_events_open(struct capture *c, const struct capture_options *options, struct error *e);

/* Once the programs are loaded. */
int capture_events_attach(struct capture *c, struct error *e);
void capture_events_detach(struct capture *c);
void capture_events_close(struct capture *c);

/* Hands the formats to the sink, once, and once more after each capture_events_tell_again(). */
int capture_events_tell(struct capture *c, const struct capture_sink *sink);
void capture_events_tell_again(struct capture *c);

/* Returns how many events the kernel skipped since the last call. */
u64 capture_events_missed(struct capture *c);

/*
 * vectors.c: programs that note interrupts between CPUs, for events of the whole host only. Those
 * that this kernel lacks are left out.
 */
#define CAPTURE_VECTOR_PROGRAMS 6

/* Before the programs are loaded. */
void capture_vectors_choose(struct programs *programs, bool wanted);
/* 0 or a negative errno. Links in `links` are for capture_vectors_detach() in either case. */
int capture_vectors_attach(struct programs *programs, struct bpf_link **links, struct error *e);
void capture_vectors_detach(struct bpf_link **links);

#endif
