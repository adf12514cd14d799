/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Who makes a call: known by where its registers are, which is in a stack that it alone has. To
 * ask the kernel for the running thread takes a call, too.
 */
#ifndef BPF_CALLER_H
#define BPF_CALLER_H

#include "bpf/state.h"

#define CALLERS_BITS 13

/* By the address of the registers: the place of the thread that was seen there last. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << CALLERS_BITS);
	__type(key, u32);
	__type(value, u32);
} callers SEC(".maps");

static __always_inline u32 *caller_at(const struct pt_regs *regs)
{
	u32 at = half_of_address(regs);

	at = (at >> 12) * 0x9e3779b1 >> (32 - CALLERS_BITS);
	return bpf_map_lookup_elem(&callers, &at);
}

/*
 * One that ends gives its stack to others. Where the kernel skips the run that would have said so,
 * it says so itself until nothing is left of the thread.
 */
static __always_inline bool caller_is_alive(const struct thread_state *place)
{
	struct task_struct *task = task_running(place->task);

	return (u64)task == place->task && !(task->flags & PF_EXITING);
}

static __always_inline struct thread_state *caller_known(const struct pt_regs *regs)
{
	u32 *at = caller_at(regs);
	struct thread_state *place = at ? bpf_map_lookup_elem(&state_places, at) : NULL;

	return place && place->regs == (u64)regs && caller_is_alive(place) ? place : NULL;
}

/* Only of one that has a place: its exit says that the stack is another's (life.bpf.c). */
static __always_inline void caller_keep(struct thread_state *state, const struct task_struct *task,
					const struct pt_regs *regs)
{
	u32 *at = caller_at(regs), place = state_place_of(task);

	if (!at || state->task != (u64)task)
		return;
	state->regs = (u64)regs;
	*at = place;
}

/* State of the thread that makes the call, as state_of() has it, and the thread. */
static __always_inline struct thread_state *caller_of(const struct pt_regs *regs,
						      struct task_struct **task)
{
	struct thread_state *state = caller_known(regs);
	struct task_struct *running;
	u64 address;

	if (state) {
		address = state->task;
	} else {
		running = bpf_get_current_task_btf();
		state = state_of(running);
		if (state)
			caller_keep(state, running, regs);
		address = (u64)running;
	}
	*task = task_running(address);
	return state;
}

#endif
