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

/* The only descriptor in three sets of 64; -1: none, or several. */
static __always_inline int call_selected(const u64 args[6])
{
	u64 all = 0, set;

	if (args[0] > 64)
		return -1;
#pragma unroll
	for (int i = 1; i <= 3; i++) {
		set = 0;
		if (args[i])
			bpf_probe_read_user(&set, sizeof(set), (void *)args[i]);
		all |= set;
	}
	if (args[0] < 64)
		all &= (1ull << (args[0] & 63)) - 1;
	if (!all || all & (all - 1))
		return -1;
	return __builtin_popcountll(all - 1);
}

#define IOCB_FILE 20 /* offset of iocb.aio_fildes */

/* The descriptor of a request of an io_submit; -1: it cannot be read. */
static __always_inline int call_submitted(u64 requests, u64 at)
{
	u64 request = 0;
	int fd = -1;

	if (!bpf_probe_read_user(&request, sizeof(request), (void *)(requests + 8 * at)))
		bpf_probe_read_user(&fd, sizeof(fd), (void *)(request + IOCB_FILE));
	return fd;
}

int call_file_polled(struct thread_state *state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 args[6];
	int fd = -1;

	if (!state || state->compat)
		return 0;
	call_registers(args, (void *)bpf_task_pt_regs(task), false);
	if (state->row == SYSCALL_NR_select || state->row == SYSCALL_NR_pselect6)
		fd = call_selected(args);
	else if (state->row == SYSCALL_NR_io_submit) {
		if ((s64)args[1] > 0)
			fd = call_submitted(args[2], 0);
		if ((s64)args[1] > 1 && fd != call_submitted(args[2], args[1] - 1))
			fd = -1;
	} else if (args[1] == 1)
		bpf_probe_read_user(&fd, sizeof(fd), (void *)args[0]);
	if (fd < 0)
		return 0;
	file_of_task(&state->file, task, fd);
	return fd;
}
