/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Finds the state of the thread that makes a system call by the address of its registers, which are
 * on a stack of its own. Asking the kernel for the running thread would cost one more call.
 */
#ifndef BPF_CALLER_H
#define BPF_CALLER_H

#include "bpf/state.h"

#define CALLERS_BITS 13

/*
 * By the address of registers: the place of the thread that was last seen there. For a thread
 * without state: caller_strange(), so that it is not looked up again before some state is made.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << CALLERS_BITS);
	__type(key, u32);
	__type(value, u64);
} callers SEC(".maps");

static __always_inline u64 *caller_at(const struct pt_regs *regs)
{
	u32 at = half_of_address(regs);

	at = (at >> 12) * 0x9e3779b1 >> (32 - CALLERS_BITS);
	return bpf_map_lookup_elem(&callers, &at);
}

/*
 * A value for a thread without state: the page of its registers, as a number that differs among
 * threads with the same entry, and how many states had been made when it was found to have none.
 */
static __always_inline u64 caller_strange(const u64 *at, const struct pt_regs *regs, u64 made)
{
	u64 distance;

	__asm__ volatile("%0 = %1\n%0 -= %2" : "=&r"(distance) : "r"(regs), "r"(at));
	return (distance >> 12 << 28) | (made & 0xfffffff);
}

static __always_inline bool caller_is_strange(const u64 *at, const struct pt_regs *regs, u64 known)
{
	return !scope_host && known == caller_strange(at, regs, *(volatile u64 *)&states_made);
}

/*
 * Whether the thread has not ended. A thread that ends gives its stack to others. If the kernel
 * skipped the program that notes the exit, the task still tells it until it is freed.
 */
static __always_inline bool caller_is_alive(const struct thread_state *place)
{
	struct task_struct *task = task_running(place->task);

	return (u64)task == place->task && !(task->flags & PF_EXITING);
}

static __always_inline struct thread_state *caller_known(u64 known, const struct pt_regs *regs)
{
	u32 at = known;
	struct thread_state *place = bpf_map_lookup_elem(&state_places, &at);

	return place && place->regs == (u64)regs && caller_is_alive(place) ? place : NULL;
}

/*
 * Looks the running thread up, and keeps the result if it has a place. The program for its exit
 * removes the entry (life.bpf.c). State that is made meanwhile counts as made later.
 */
static __always_inline struct thread_state *caller_ask(u64 *at, const struct pt_regs *regs,
						       struct task_struct *task)
{
	u64 made = scope_host ? 0 : __sync_fetch_and_add(&states_made, 0);
	struct thread_state *state = state_of(task);

	if (state && state->task == (u64)task) {
		state->regs = (u64)regs;
		*at = state_place_of(task);
	} else if (!state && !scope_host) {
		*at = caller_strange(at, regs, made);
	}
	return state;
}

/* The state of the thread that makes the call, like state_of(). With a state, *task is the thread.
 */
static __always_inline struct thread_state *caller_of(const struct pt_regs *regs,
						      struct task_struct **task)
{
	u64 *at = caller_at(regs), known = at ? *at : 0, address;
	struct thread_state *state = caller_known(known, regs);
	struct task_struct *running;

	*task = NULL;
	if (state) {
		address = state->task;
	} else if (!at || caller_is_strange(at, regs, known)) {
		return NULL;
	} else {
		running = bpf_get_current_task_btf();
		state = caller_ask(at, regs, running);
		address = (u64)running;
	}
	*task = task_running(address);
	return state;
}

#endif
