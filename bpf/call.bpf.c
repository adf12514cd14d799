// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Calls of the running thread that were not seen to begin, or whose file was not looked for. */
#include "bpf/call.h"
#include "bpf/call_begin.h"
#include "bpf/license.h"
#include "bpf/seccomp.h"

const u8 call_fd_places[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT;
const volatile bool record_files = true;
const volatile u8 syscall_unwanted[SYSCALL_TABLE_SIZE] = {0};

int call_find(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct thread_state *state = state_of(task);

	if (!state || !call_is_open(regs) || !call_was_open(state, task) ||
	    seccomp_holds(bpf_get_current_task()))
		return 0;
	call_begin(state, task, regs, regs->orig_ax);
	call_file_find(state, task, regs);
	state->held_tid = 0;
	call_begin_soft(state);
	return 0;
}

int call_find_file(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);

	if (state)
		call_file_find(state, task, (void *)bpf_task_pt_regs(task));
	return 0;
}
