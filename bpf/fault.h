/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef BPF_FAULT_H
#define BPF_FAULT_H

#include "bpf/ring.h"
#include "bpf/thread_state.h"

#define TASK_UNINTERRUPTIBLE 2

/* fault.bpf.c: records the running thread's open fault, whose end was not seen. */
int fault_soft_end(void);

/* Of the running thread's open fault: can it have ended on this CPU without being seen to? */
static __always_inline bool fault_is_unsure(const struct thread_state *state)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_control *ring = bpf_map_lookup_elem(&rings, &cpu);

	return ring && state->fault_begin_ns < *(volatile u64 *)&ring->fault_ends_ns;
}

/*
 * The thread with an open fault leaves this CPU. If it can have ended, it is taken to go on only
 * where a thread in user mode sleeps as those do that wait for a page: what is open would have all
 * time of the thread up to here, and in a call each of its sleeps.
 */
static __always_inline void fault_leave(const struct thread_state *state, bool preempt,
					u32 task_state)
{
	bool waits = !preempt && (task_state & TASK_UNINTERRUPTIBLE);

	if (fault_is_unsure(state) && !(waits && (state->fault_flags & FAULT_USER)))
		fault_soft_end();
}

#endif
