/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of long waits (bpf/stack.h), on their way to the sink: functions of
 * the kernel are told by name, mapped files with their identity.
 *
 * All functions take NULL where no stacks are recorded.
 */
#ifndef CAPTURE_STACK_STACKS_H
#define CAPTURE_STACK_STACKS_H

#include "capture/capture.h"

struct capture_stacks;

/* Before the programs are loaded: *out is NULL if min_ns is 0. 0 or a negative errno. */
int capture_stacks_open(struct capture_stacks **out, struct capture *c, u64 min_ns,
			struct error *e);

/* False if stacks of the kernel are left out: nobody tells us what stands at their addresses. */
bool capture_stacks_of_kernel(const struct capture_stacks *s);

/* Before the programs are attached, and privileges dropped. */
int capture_stacks_start(struct capture_stacks *s, struct capture *c, struct error *e);
void capture_stacks_close(struct capture_stacks *s);

/* Attaches their programs, behind all others. */
int capture_stacks_attach(struct capture_stacks *s, struct capture *c, struct error *e);
void capture_stacks_detach(struct capture_stacks *s);

/* How many stacks can be missing, since the last call: runs that the kernel skipped. */
u64 capture_stacks_missed(struct capture_stacks *s, struct capture *c);

/*
 * Tells the functions of the kernel that a stack record names first. 1: the record is not
 * to be handed on, since without functions only the place of the kernel could be learnt.
 */
int capture_stacks_names(struct capture_stacks *s, struct capture *c,
			 const struct capture_sink *sink, const struct record_head *r);

/* Hands a stack record on, without the offset at which the kernel was put at boot. */
int capture_stacks_record(struct capture_stacks *s, const struct capture_sink *sink,
			  const struct capture_stream *stream, const struct record_head *r);

/* A mapping as a program saw it; true: it comes out through capture_stacks_collect(). */
bool capture_stacks_mapping(struct capture_stacks *s, const struct record_head *r);

/* Hands over the mappings that are complete, as of time_ns. */
int capture_stacks_collect(struct capture_stacks *s, struct capture *c,
			   const struct capture_sink *sink, u64 time_ns);

/* The same at a cut, for all that were seen before it. Waits for files that answer slowly. */
int capture_stacks_settle(struct capture_stacks *s, struct capture *c,
			  const struct capture_sink *sink, u64 cut_ns);

/* The stacks of waits that are long already, and were not told. */
int capture_stacks_open_waits(struct capture_stacks *s, struct capture *c,
			      const struct capture_sink *sink);

#endif
