/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the memory behind an argument of a call holds (record/call_memory.h). */
#ifndef BPF_CALL_MEMORY_H
#define BPF_CALL_MEMORY_H

#include "bpf/call.h"
#include "record/call_memory.h"

/* Reads it for the running thread's call, which has ended with `result`, into state->args. */
int call_memory_read(struct thread_state *state, long result);

#endif
