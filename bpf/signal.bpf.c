// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* What a signal ends when it is delivered: a page fault, an interrupted call, or the thread. */
#include "bpf/call_now.h"
#include "bpf/fault.h"
#include "bpf/license.h"
#include "bpf/syscall.h"

#define BIT(signal) (1ull << (signal))
/* CHLD, CONT, URG, WINCH: without a handler they do nothing; STOP, TSTP, TTIN, TTOU */
#define SIGNALS_SURVIVED                                                                           \
	(BIT(17) | BIT(18) | BIT(23) | BIT(28) | BIT(19) | BIT(20) | BIT(21) | BIT(22))
#define SIGNAL_UNKILLABLE 0x40
#define SIGKILL 9

/* Whether a signal keeps the thread that takes it from returning to user mode. */
static __always_inline bool signal_ends(struct task_struct *task, int number,
					const struct k_sigaction *action)
{
	if (action->sa.sa_handler || (number < 64 && SIGNALS_SURVIVED & BIT(number & 63)))
		return false;
	/* the first process of a pid namespace */
	return number == SIGKILL || !(BPF_CORE_READ(task, signal, flags) & SIGNAL_UNKILLABLE);
}

/* Runs before a core is written or resources are freed; the exit record comes after some of that.
 */
SEC("tp_btf/signal_deliver")
int BPF_PROG(signal_deliver, int number, void *info, struct k_sigaction *action)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);

	if (!state_in(state))
		return 0;
	if (state->fault_begin_ns && calls_are_followed(state)) {
		if (!fault_is_unsure(state)) /* a thread that ends otherwise is handled elsewhere */
			state->fault_flags |= FAULT_SIGNALLED;
		fault_soft_end();
	}
	if (state->restarts == RESTARTS_OPEN && calls_are_followed(state) &&
	    ((u64)action->sa.sa_handler > 1 || signal_ends(task, number, action)))
		call_interrupted((u64)action->sa.sa_handler > 1, action->sa.sa_flags);
	if (!call_is_under_way(state) && !state->exit_ns && signal_ends(task, number, action))
		state->exit_ns = bpf_ktime_get_ns();
	return 0;
}
