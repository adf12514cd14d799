/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of samples: on each CPU that is online, a software event of the kernel that runs a
 * program at a frequency. The kernel removes it with its CPU. For the thread that drains.
 */
#ifndef CAPTURE_STACK_SAMPLER_H
#define CAPTURE_STACK_SAMPLER_H

#include "record/record.h"

struct bpf_program;
struct sampler;

/* *out is the caller's, for sampler_free(). 0 or -ENOMEM. */
int sampler_new(struct sampler **out, u32 cpus, u64 hz);

/*
 * Attaches the program to each CPU that is online and has no clock yet; forgets the clocks of CPUs
 * that are gone. 0, or a negative errno if it could not be attached to any CPU.
 */
int sampler_attach(struct sampler *s, struct bpf_program *program);

/* Both take NULL. */
void sampler_detach(struct sampler *s);
void sampler_free(struct sampler *s);

#endif
