// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The call that a thread is in where no program follows calls (--detail waits). Its number and
 * arguments lie in the registers with which the thread entered the kernel; its file is looked up
 * each time, and told with its name at the first use in a chunk.
 */
#include "bpf/call_now.h"
#include "bpf/call_begin.h"
#include "bpf/fd.h"
#include "bpf/file.h"
#include "bpf/license.h"
#include "bpf/restart.h"
#include "bpf/state.h"
#include "bpf/told.h"

struct told_fd {
	u32 tgid;
	u32 fd;
};

/*
 * By process and number. The identity is made of the address of what is open there and of its
 * inode: the kernel gives the address of a closed file to the next one at once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TOLD_MAX);
	__type(key, struct told_fd);
	__type(value, struct told);
} told_fds SEC(".maps");

__noinline int call_now_name(u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);
	struct told_fd key = {.tgid = task->tgid, .fd = fd};
	struct told now, *told;
	int lost;

	if (!state)
		return 0;
	now = told_now(state->call_identity);
	told = bpf_map_lookup_elem(&told_fds, &key);
	if (told_is_due(told, &now)) {
		lost = fd_name(fd, -1, FD_open);
		now.missed = fd_socket(fd) || lost;
		bpf_map_update_elem(&told_fds, &key, &now, BPF_ANY);
	} else {
		now.missed = told ? told->missed : 0;
	}
	if (now.missed)
		return 0;
	state->told_fd = fd;
	state->told_identity = now.identity;
	state->told_generation = now.generation;
	return 0;
}

/* Looks for the file that the call works on. */
static __always_inline void call_now_file(struct thread_state *state, struct task_struct *task,
					  struct pt_regs *regs)
{
	u8 which = call_fd_places[call_row_of(state)];
	struct file *file;

	__builtin_memset(&state->file, 0, sizeof(state->file));
	if (which)
		state->call_fd = call_descriptor(state, regs, which);
	else if (call_points_to_file(state->row))
		state->call_fd = call_file_polled(state);
	if (!which && !state->file.kind)
		return;
	file = file_of_fd(task, state->call_fd);
	if (!file)
		return;
	file_fill(&state->file, file);
	state->call_identity = (u64)half_of_address(file) << 32 ^ state->file.key << 8 ^
			       state->file.kind;
}

/* restart_syscall goes on with the call in which the thread slept last, if it was seen. */
static __always_inline u32 call_now_number(const struct thread_state *state,
					   struct task_struct *task, u32 nr)
{
	bool compat = task->thread_info.status & TS_COMPAT;

	return nr == (compat ? CALL_COMPAT_RESTART : SYSCALL_NR_restart_syscall)
		       ? restart_call(task, nr)
		       : nr;
}

__noinline int call_now(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct thread_state *state = state_of(task);
	u32 held_tid;

	if (!state)
		return 0;
	state->in_syscall = 0;
	state->begin_ns = 0;
	state->fault_begin_ns = 0; /* its end may not have been seen */
	if (!call_is_open(regs))
		return 0;
	if (!state->called || !call_goes_on(state, task, regs->orig_ax)) {
		held_tid = state->held_tid;
		call_begin(state, task, regs, call_now_number(state, task, regs->orig_ax));
		if (held_tid) /* that of an exec under way, or of the end */
			state->held_tid = held_tid;
		else if (state->held_tid) /* an exec may have changed the number before this */
			state->held_tid = state->tid;
		call_now_file(state, task, regs);
	}
	state->called = CALLED_SEEN;
	state->in_syscall = IN_SYSCALL_SOFT; /* so that its context is read each time */
	return 0;
}
