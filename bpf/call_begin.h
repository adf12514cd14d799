/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Keeps the number, the first argument and the file of a call from its begin on. A switch in the
 * middle of the call records them, and at the end of a close() the file is gone.
 */
#ifndef BPF_CALL_BEGIN_H
#define BPF_CALL_BEGIN_H

#include "bpf/call.h"
#include "bpf/file.h"
#include "record/syscalls.h"

/* Which argument of a call is a descriptor, from 1; 0: none. */
extern const u8 call_fd_places[SYSCALL_TABLE_SIZE];

/* Calls whose arguments are not in the registers any more when they end. */
static __always_inline bool call_keeps_args(u64 row)
{
	return row == SYSCALL_NR_execve || row == SYSCALL_NR_execveat ||
	       row == SYSCALL_NR_rt_sigreturn;
}

/* Calls that may change the number of the thread: an exec takes over the leader's. */
static __always_inline bool call_may_rename(u64 row)
{
	return row == SYSCALL_NR_execve || row == SYSCALL_NR_execveat;
}

static __always_inline u64 call_fd(struct pt_regs *regs, u8 which)
{
	switch (which) {
	case 1:
		return regs->di;
	case 2:
		return regs->si;
	case 3:
		return regs->dx;
	case 4:
		return regs->r10;
	default:
		return regs->r8;
	}
}

/* The descriptor that a call works on, if it has one: its argument `which`. */
static __always_inline u32 call_descriptor(const struct thread_state *state, struct pt_regs *regs,
					   u8 which)
{
	u64 args[6];

	if (!state->compat)
		return call_fd(regs, which);
	call_arguments(args, regs, state->nr, true);
	return call_argument(args, which);
}

static __always_inline bool call_polls(u32 row)
{
	return row == SYSCALL_NR_poll || row == SYSCALL_NR_ppoll || row == SYSCALL_NR_select ||
	       row == SYSCALL_NR_pselect6;
}

/* Calls whose file stands in memory. */
static __always_inline bool call_points_to_file(u32 row)
{
	return call_polls(row) || row == SYSCALL_NR_io_submit;
}

/*
 * Finds the file of the running thread's poll or select if it has one descriptor, below 64 with
 * select, or of an io_submit whose first and last request are on one. Returns the descriptor, 0 if
 * there are several. Not for 32-bit programs.
 */
int call_file_polled(struct thread_state *state);

/* Looks for the file that the call works on. Returns its descriptor, 0 if the call has none. */
static __always_inline u32 call_file_find(struct thread_state *state, struct task_struct *task,
					  struct pt_regs *regs)
{
	u8 which = call_fd_places[call_row_of(state)];
	u32 fd = which ? call_descriptor(state, regs, which) : 0;

	if (which)
		file_of_task(&state->file, task, fd);
	else
		__builtin_memset(&state->file, 0, sizeof(state->file));
	if (call_points_to_file(state->row))
		fd = call_file_polled(state);
	return fd;
}

/* restart_syscall goes on with the call that was interrupted: its number, file and arguments. */
static __always_inline bool call_goes_on(const struct thread_state *state, struct task_struct *task,
					 long id)
{
	if (task->thread_info.status & TS_COMPAT)
		return state->compat && id == CALL_COMPAT_RESTART;
	return !state->compat && id == SYSCALL_NR_restart_syscall;
}

/* Keeps number and arguments of the call that the running thread enters. */
static __always_inline void call_begin(struct thread_state *state, struct task_struct *task,
				       struct pt_regs *regs, long id)
{
	state->nr = call_number(id);
	state->compat = task->thread_info.status & TS_COMPAT ? 1 : 0;
	state->row = call_row(id, state->compat, regs);
	state->args[0] = state->compat ? (u32)regs->bx : regs->di;
	if (call_keeps_args(state->row))
		call_registers(state->args, regs, state->compat);
	if (call_may_rename(state->row)) {
		state->held_tid = task->pid;
		if (task->pid != task->tgid)
			numbers_swap = 1;
	}
	state->file.kind = 0; /* not looked for yet */
}

/* Whether a call that was not seen to begin was open when recording of the thread began. */
static __always_inline bool call_was_open(const struct thread_state *state,
					  const struct task_struct *task)
{
	return !task->ptrace && task->start_time <= state_known_ns(state);
}

/* A call that was open already counts as begun when recording of the thread began. */
static __always_inline void call_begin_soft(struct thread_state *state)
{
	state->begin_ns = state_known_ns(state);
	state->in_syscall = IN_SYSCALL_SOFT;
}

#endif
