/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The call that the running thread is in, also where no program follows calls (--detail waits). */
#ifndef BPF_CALL_NOW_H
#define BPF_CALL_NOW_H

#include "bpf/call.h"
#include "bpf/told.h"

/*
 * For a thread whose calls are not followed: takes the running thread's call from its registers;
 * in_syscall is 0 behind it if it is in none.
 */
int call_now(void);

/*
 * There: whether the name of the descriptor of the running thread's call may have to be told. Not
 * if the thread itself has told it last.
 */
static __always_inline bool call_now_is_unnamed(const struct thread_state *state)
{
	return state->told_identity != state->call_identity || state->told_fd != state->call_fd ||
	       state->told_generation != *(volatile u32 *)&told_generation;
}

/*
 * There: tells the name of a descriptor of the running thread, and the addresses of a socket, if
 * this chunk has not got them yet.
 */
int call_now_name(u32 fd);

/* Whether the running thread is in a call. */
static __always_inline bool call_is_under_way(struct thread_state *state)
{
	if (!calls_are_followed(state))
		call_now();
	return state->in_syscall;
}

#endif
