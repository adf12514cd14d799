/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The call of a thread and its arguments, in the 64-bit and the 32-bit ABI. The row of a call is
 * its number in the table of 64-bit calls, by which tables tell what it does with descriptors and
 * paths.
 */
#ifndef BPF_CALL_H
#define BPF_CALL_H

#include "bpf/state.h"
#include "record/syscalls.h"
#include "record/syscalls_compat.h"

#define CALL_NO_ROW 511	  /* the call is in no table */
#define CALL_X32_ROW 1023 /* a call of x32, in no table; bounded to 511 it is CALL_NO_ROW */
#define CALL_NR_NONE 0xffff
#define CALL_COMPAT_MMAP 90   /* its arguments are in memory */
#define CALL_COMPAT_RESTART 0 /* restart_syscall */

#define CALL_COMPAT_ROW(nr, name, native) [nr] = (nr) == CALL_COMPAT_MMAP ? 0 : (native) + 1,
#define CALL_SOCKET_ROW(call, name, native) [call] = (native) + 1,

/* The row + 1; 0: none. */
const u16 call_compat_rows[SYSCALL_COMPAT_TABLE_SIZE] __weak = {
	RECORD_SYSCALLS_COMPAT(CALL_COMPAT_ROW)};
const u16 call_socket_rows[32] __weak = {RECORD_SOCKETCALLS(CALL_SOCKET_ROW)};

static __always_inline bool call_is_x32(u32 id)
{
	return (id & X32_BIT) && !(id >> 31);
}

/* The number for records; CALL_NR_NONE if no table can have it. */
static __always_inline u16 call_number(u32 id)
{
	if (__builtin_expect(id < SYSCALL_TABLE_SIZE, 1))
		return id;
	if (call_is_x32(id))
		id &= ~X32_BIT;
	return id < CALL_NR_NONE ? id : CALL_NR_NONE;
}

static __always_inline u32 call_row(u32 nr, bool compat, struct pt_regs *regs)
{
	u64 row = nr, call;

	if (!compat) {
		if (row >= SYSCALL_TABLE_SIZE)
			row = call_is_x32(nr) ? CALL_X32_ROW : CALL_NO_ROW;
		return row;
	}
	if (row == SYSCALL_COMPAT_NR_socketcall) {
		call = (u32)regs->bx;
		if (call > 31)
			call = 0;
		BOUND(call, 31);
		row = call_socket_rows[call];
	} else {
		if (row >= SYSCALL_COMPAT_TABLE_SIZE)
			row = CALL_COMPAT_MMAP;
		BOUND(row, 511);
		row = call_compat_rows[row];
	}
	return row ? row - 1 : CALL_NO_ROW;
}

static __always_inline u64 call_row_of(const struct thread_state *state)
{
	u64 row = state->row;

	BOUND(row, 511);
	return row;
}

/* Takes the arguments from the registers; a 32-bit call has them in others. */
static __always_inline void call_registers(u64 args[6], struct pt_regs *regs, bool compat)
{
	if (compat) {
		args[0] = (u32)regs->bx;
		args[1] = (u32)regs->cx;
		args[2] = (u32)regs->dx;
		args[3] = (u32)regs->si;
		args[4] = (u32)regs->di;
		args[5] = (u32)regs->bp;
		return;
	}
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->r10;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

/* Whether the task belongs to the first process of a session or of a pid namespace. */
static __always_inline bool call_is_of_leader(struct task_struct *task)
{
	struct signal_struct *signal = KERNEL_READ(task, signal);

	return KERNEL_READ(signal, flags) & SIGNAL_UNKILLABLE ||
	       KERNEL_READ(signal, pids[PIDTYPE_SID]) ==
		       KERNEL_READ(task, group_leader, thread_pid);
}

#define FUTEX_COMMAND 127
#define FUTEX_LOCK_PI 6
#define FUTEX_LOCK_PI2 13
#define FUTEX_TID_MASK 0x3fffffff

/*
 * The owner of the lock for which the task waits, if the lock has priority inheritance: its word
 * has the owner's tid, in the task's pid namespace. Only the task itself can read it. 0: not known.
 */
static __always_inline u32 call_lock_owner(const u64 args[6], struct task_struct *task)
{
	u32 command = args[1] & FUTEX_COMMAND, word = 0;

	if ((command != FUTEX_LOCK_PI && command != FUTEX_LOCK_PI2) ||
	    bpf_get_current_task() != (u64)task || KERNEL_READ(task, thread_pid, level))
		return 0;
	bpf_probe_read_user(&word, sizeof(word), (void *)args[0]);
	return word & FUTEX_TID_MASK;
}

/* Fills in what is told of a call without a file instead: see FILE_NONE_* in record.h. */
static __always_inline void call_fill_none(struct file_ref *ref, u32 row, struct task_struct *task,
					   bool compat)
{
	u64 args[6];
	bool endless = false;

	call_registers(args, (void *)bpf_task_pt_regs(task), compat);
	switch (row) {
	case SYSCALL_NR_futex:
		__builtin_memset(ref, 0, sizeof(*ref));
		ref->key = FUTEX_KEY(args[1], args[2]);
		ref->flags = FILE_NONE_FUTEX;
		ref->dev = call_lock_owner(args, task);
		return;
	case SYSCALL_NR_wait4:
	case SYSCALL_NR_waitid:
		if (call_is_of_leader(task))
			ref->flags = FILE_NONE_LEADER;
		return;
	case SYSCALL_NR_poll:
		endless = !args[0] && (s32)args[2] < 0;
		break;
	case SYSCALL_NR_ppoll:
		endless = !args[0] && !args[2];
		break;
	case SYSCALL_NR_select:
	case SYSCALL_NR_pselect6:
		endless = !args[0] && !args[4];
		break;
	}
	if (endless)
		ref->flags = FILE_NONE_ENDLESS;
}

/* Takes the arguments of the call. Those of socketcall are in memory. */
static __always_inline void call_arguments(u64 args[6], struct pt_regs *regs, u32 nr, bool compat)
{
	u32 values[6] = {};

	call_registers(args, regs, compat);
	if (!compat || nr != SYSCALL_COMPAT_NR_socketcall)
		return;
	bpf_probe_read_user(values, sizeof(values), (void *)args[1]);
	for (int i = 0; i < 6; i++)
		args[i] = values[i];
}

/* Argument number `which`, counted from 1. */
static __always_inline u64 call_argument(const u64 args[6], u8 which)
{
	switch (which) {
	case 1:
		return args[0];
	case 2:
		return args[1];
	case 3:
		return args[2];
	case 4:
		return args[3];
	default:
		return args[4];
	}
}

#define ENOSYS 38

/*
 * Whether a thread entered the kernel by a call. Faults and interrupts leave -1 as the number of
 * the call. Threads that were never in user mode, such as workers of io_uring, have no instruction
 * pointer to go back to.
 */
static __always_inline bool call_came_by_one(const struct pt_regs *regs)
{
	return (s32)regs->orig_ax >= 0 && regs->ip;
}

/* Whether the thread is in a call: its result is -ENOSYS until the call ends. */
static __always_inline bool call_is_open(const struct pt_regs *regs)
{
	return call_came_by_one(regs) && (s32)regs->ax == -ENOSYS;
}

/* Set by capture: whether files are recorded; not 0 for calls that are not to be recorded. */
extern const volatile bool record_files;
extern const volatile u8 syscall_unwanted[SYSCALL_TABLE_SIZE];

/*
 * For a running thread whose calls were not seen to begin. If it is in a call that was open before
 * it was recorded, takes that call as begun when recording began. A thread that is traced, or held
 * by a seccomp supervisor, may stand before its call: nothing is assumed of it.
 */
int call_find(void);

/* Looks for the file of the running thread's call, if that was not done (CALL_UNTOLD_NS). */
int call_find_file(void);

#endif
