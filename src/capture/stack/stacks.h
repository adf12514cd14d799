/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of long waits and of samples (bpf/stack.h), on their way to the sink. Functions of the
 * kernel are told by name, and mapped files with their identity.
 *
 * All functions take NULL, if no stacks are recorded. Those with a sink return 0 or its result.
 */
#ifndef CAPTURE_STACK_STACKS_H
#define CAPTURE_STACK_STACKS_H

#include "capture/capture.h"

struct capture_stacks;

/*
 * Before the programs are loaded. *out becomes NULL if the options ask for no stacks. 0 or a
 * negative errno.
 */
int capture_stacks_open(struct capture_stacks **out, struct capture *c,
			const struct capture_options *options, struct error *e);

/* False if stacks of the kernel are left out, since /proc/kallsyms shows no addresses. */
bool capture_stacks_of_kernel(const struct capture_stacks *s);

/* Before the programs are attached, and before privileges are dropped. */
int capture_stacks_start(struct capture_stacks *s, struct capture *c, struct error *e);
void capture_stacks_close(struct capture_stacks *s);

/* Attaches the programs for stacks, after all others. */
int capture_stacks_attach(struct capture_stacks *s, struct capture *c, struct error *e);
void capture_stacks_detach(struct capture_stacks *s);

/*
 * Follows CPUs that come and go, whose samples are taken from then on. Without CAP_PERFMON it does
 * nothing.
 */
void capture_stacks_cpus(struct capture_stacks *s, struct capture *c);

/* Whether a CPU can come later on which samples are to be taken. */
bool capture_stacks_await_cpus(const struct capture_stacks *s);

/* Returns how many runs of these programs the kernel skipped since the last call. */
u64 capture_stacks_missed(struct capture_stacks *s, struct capture *c);

/* Whether a record has a stack: it is one of a wait, or a sample. */
static inline bool capture_stacks_has(const struct record_head *r)
{
	return r->kind == RECORD_stack || r->kind == RECORD_sample;
}

/*
 * Tells the functions of the kernel in a record with a stack that were not told before. 1: the
 * record must not be handed on. Without functions it would only reveal where the kernel was loaded.
 */
int capture_stacks_names(struct capture_stacks *s, struct capture *c,
			 const struct capture_sink *sink, const struct record_head *r);

/* Hands such a record on, with linked addresses instead of those of the running kernel. */
int capture_stacks_record(struct capture_stacks *s, const struct capture_sink *sink,
			  const struct capture_stream *stream, const struct record_head *r);

/* Takes note of a record of the life of a process: of a program that it executes, of a new one. */
void capture_stacks_life(struct capture_stacks *s, const struct record_head *r);

/* Takes a mapping that a program saw. True: capture_stacks_collect() hands it over later. */
bool capture_stacks_mapping(struct capture_stacks *s, const struct record_head *r);

/* Hands over the mappings that are complete, with the time time_ns. */
int capture_stacks_collect(struct capture_stacks *s, struct capture *c,
			   const struct capture_sink *sink, u64 time_ns);

/* At a cut: hands over all mappings that were seen before it. Waits for slow files. */
int capture_stacks_settle(struct capture_stacks *s, struct capture *c,
			  const struct capture_sink *sink, u64 cut_ns);

/* Hands over stacks of waits that are long already, still go on, and were not told. */
int capture_stacks_open_waits(struct capture_stacks *s, struct capture *c,
			      const struct capture_sink *sink);

#endif
