/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef BPF_FAULT_H
#define BPF_FAULT_H

#include "bpf/ring.h"
#include "bpf/thread_state.h"

#define TASK_UNINTERRUPTIBLE 2

/* Records the open fault of the running thread, whose end was not seen. */
int fault_soft_end(void);

/* Whether the open fault of the running thread can have ended unseen on this CPU. */
static __always_inline bool fault_is_unsure(const struct thread_state *state)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_control *ring = bpf_map_lookup_elem(&rings, &cpu);

	return ring && state->fault_begin_ns < *(volatile u64 *)&ring->fault_ends_ns;
}

/*
 * A thread with an open fault leaves its CPU. If the fault can have ended unseen, it counts as open
 * only if the thread was in user mode and sleeps like one that waits for a page. Otherwise the
 * fault would get all time of the thread up to now, and in a call each of its sleeps.
 */
static __always_inline void fault_leave(const struct thread_state *state, bool preempt,
					u32 task_state)
{
	bool waits = !preempt && (task_state & TASK_UNINTERRUPTIBLE);

	if (fault_is_unsure(state) && !(waits && (state->fault_flags & FAULT_USER)))
		fault_soft_end();
}

#endif
