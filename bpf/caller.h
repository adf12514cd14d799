/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Who makes a call: known by where its registers are, which is in a stack that it alone has. To
 * ask the kernel for the running thread takes a call, too.
 */
#ifndef BPF_CALLER_H
#define BPF_CALLER_H

#include "bpf/state.h"

#define CALLERS_BITS 13

/*
 * By the address of the registers: the place of the thread that was seen there last; of one that
 * has no state, caller_strange(): it is not asked again before any thread gets state.
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
 * The page of the registers, as a number to the verifier that differs among those with the same
 * entry, and how many states there had been when the thread was found to have none.
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
 * One that ends gives its stack to others. Where the kernel skips the run that would have said so,
 * it says so itself until nothing is left of the thread.
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
 * It is kept if it has a place: its exit says that the stack is another's (life.bpf.c). What is
 * made while it is looked for counts as made later.
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

/* State of the thread that makes the call, as state_of() has it; if there is one, the thread. */
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
