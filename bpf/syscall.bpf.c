// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * System calls: one record each, at the exit. The entry keeps the time, the
 * first argument and the file behind its fd: a thread that leaves the CPU in
 * the middle is explained by them, and after close() the file is gone.
 */
#include "bpf/call_path.h"
#include "bpf/context.h"
#include "bpf/fault.h"
#include "bpf/fd.h"
#include "bpf/file.h"
#include "bpf/notice_emit.h"
#include "bpf/ring.h"
#include "record/syscalls.h"

#define EINPROGRESS 115
#define ERESTART_RESTARTBLOCK 516
#define COMPAT_NR_EXECVE 11
#define COMPAT_NR_EXECVEAT 358

char LICENSE[] SEC("license") = "GPL";

const u8 syscall_nargs[SYSCALL_TABLE_SIZE] = SYSCALL_NARGS_INIT;
const u8 syscall_fdarg[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT;
const u8 call_paths_of[SYSCALL_TABLE_SIZE] = CALL_PATHS_INIT;
const u8 fd_calls[SYSCALL_TABLE_SIZE] = FD_CALLS_INIT;
const volatile bool record_files = true; /* set by capture */
/* Set by capture: not 0 for calls that are not to be recorded. */
const volatile u8 syscall_unwanted[SYSCALL_TABLE_SIZE] = {0};

static __always_inline u64 syscall_row(u16 nr)
{
	u64 row = nr;

	BOUND(row, 511);
	return row;
}

static __always_inline bool syscall_keeps_args(u32 nr)
{
	return nr == SYSCALL_NR_execve || nr == SYSCALL_NR_execveat ||
	       nr == SYSCALL_NR_rt_sigreturn;
}

/* An exec from a second thread takes the leader's number. */
static __always_inline bool syscall_may_rename(u32 nr, bool compat)
{
	if (compat)
		return nr == COMPAT_NR_EXECVE || nr == COMPAT_NR_EXECVEAT;
	return nr == SYSCALL_NR_execve || nr == SYSCALL_NR_execveat;
}

/* A 32-bit call has its arguments in other registers. */
static __always_inline void syscall_read_args(u64 args[6], struct pt_regs *regs, bool compat)
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

static __always_inline u64 syscall_fd(struct pt_regs *regs, u8 which)
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

static __always_inline void syscall_find_file(struct thread_state *state, struct task_struct *task,
					      struct pt_regs *regs)
{
	u8 which = state->compat ? 0 : syscall_fdarg[syscall_row(state->nr)];

	if (which)
		file_of_task(&state->file, task, syscall_fd(regs, which));
	else
		__builtin_memset(&state->file, 0, sizeof(state->file));
}

/* restart_syscall goes on with the call that was interrupted: its number, file and arguments. */
static __always_inline bool syscall_goes_on(const struct thread_state *state,
					    struct task_struct *task, long id)
{
	return id == SYSCALL_NR_restart_syscall && (state->flags & STATE_RESTARTS) &&
	       !(task->thread_info.status & TS_COMPAT);
}

static __always_inline void syscall_begin(struct thread_state *state, struct task_struct *task,
					  struct pt_regs *regs, long id)
{
	state->nr = id;
	state->compat = task->thread_info.status & TS_COMPAT ? 1 : 0;
	state->args[0] = state->compat ? (u32)regs->bx : regs->di;
	if (!state->compat && syscall_keeps_args(state->nr))
		syscall_read_args(state->args, regs, false);
	if (syscall_may_rename(state->nr, state->compat))
		state->held_tid = task->pid;
	syscall_find_file(state, task, regs);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);

	if (!state || !(state->flags & (STATE_IN | STATE_PENDING)))
		return 0;
	if (state->fault_begin_ns)
		fault_soft_end();
	if (!syscall_goes_on(state, task, id))
		syscall_begin(state, task, regs, id);
	state->flags &= ~(STATE_NEWBORN | STATE_RESTARTS);
	context_read(state, task);
	state->begin_ns = bpf_ktime_get_ns();
	state->in_syscall = IN_SYSCALL_SEEN;
	/* before the number is free for others; none is open: it will fail */
	if (record_files && state->nr == SYSCALL_NR_close && state->file.kind && state_in(state) &&
	    !state->compat)
		fd_closes(state->args[0]);
	return 0;
}

/* How many slots: what is zero at the end need not be published. */
static __always_inline u32 syscall_slots(const struct record_syscall *r)
{
	if (context_is_set(&r->ctx))
		return 3;
	if (r->file.kind || r->arg2 || r->arg3 || r->arg4 || r->arg5)
		return 2;
	return 1;
}

static __always_inline void syscall_fill_args(struct record_syscall *r, const u64 args[6], u32 n)
{
	if (n > 0)
		r->arg0 = args[0];
	if (n > 1)
		r->arg1 = args[1];
	if (n > 2)
		r->arg2 = args[2];
	if (n > 3)
		r->arg3 = args[3];
	if (n > 4)
		r->arg4 = args[4];
	if (n > 5)
		r->arg5 = args[5];
}

static __always_inline void syscall_fill(struct record_syscall *r, struct thread_state *state,
					 struct task_struct *task, struct pt_regs *regs)
{
	u64 args[6];

	if (state->in_syscall) {
		r->nr = state->nr;
		r->file = state->file;
		r->ctx = state->ctx;
	} else {
		r->nr = regs->orig_ax;
		state->compat = task->thread_info.status & TS_COMPAT ? 1 : 0;
	}
	if (state->compat)
		r->flags |= SYSCALL_COMPAT;
	if (state->in_syscall && !state->compat && syscall_keeps_args(r->nr))
		syscall_fill_args(r, state->args, syscall_nargs[syscall_row(r->nr)]);
	else {
		syscall_read_args(args, regs, state->compat);
		syscall_fill_args(r, args, state->compat ? 6 : syscall_nargs[syscall_row(r->nr)]);
	}
}

static __always_inline bool syscall_is_wanted(const struct record_syscall *r)
{
	if (r->nr < SYSCALL_TABLE_SIZE && syscall_unwanted[syscall_row(r->nr)])
		return false;
	return !spans_only || context_is_set(&r->ctx);
}

static __always_inline void syscall_record(struct thread_state *state, struct task_struct *task,
					   struct pt_regs *regs, long result)
{
	struct {
		struct record_syscall r;
		u64 rest[7];
	} out = {};
	struct record_syscall *r = &out.r;
	struct ring_place place;
	u32 n;

	syscall_fill(r, state, task, regs);
	if (!syscall_is_wanted(r))
		return;
	n = syscall_slots(r);
	if (ring_reserve(&place, n, RING_LOST_SYSCALL))
		return;
	r->head.kind = RECORD_syscall;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->result = result;
	if (state->in_syscall && state->begin_ns) {
		r->duration_ns = r->head.time_ns - state->begin_ns;
		if (state->in_syscall == IN_SYSCALL_SOFT)
			r->flags |= SYSCALL_BEGIN_SOFT;
	} else {
		r->flags |= SYSCALL_BEGIN_UNKNOWN;
	}
	ring_publish(&place, r, n);
}

/* What the call did to descriptors; its own record stands before. */
static __always_inline void syscall_files(struct thread_state *state, struct pt_regs *regs,
					  long result)
{
	u8 class = fd_calls[syscall_row(state->nr)];

	if (!record_files || !state->in_syscall || state->compat || class == 0 ||
	    class == FD_CALL_CLOSE ||
	    ((class == FD_CALL_RIGHTS || class == FD_CALL_RIGHTS_MANY) &&
	     state->file.kind != FILE_KIND_unix) ||
	    (result < 0 && !(class == FD_CALL_CONNECT && result == -EINPROGRESS)))
		return;
	fd_after(class, class == FD_CALL_PAIR4 ? regs->r10 : regs->di, regs->si, regs->dx, result);
}

/* The path that it was asked for. An exec that succeeds has none to read: its record tells it. */
static __always_inline void syscall_path(struct thread_state *state, struct pt_regs *regs,
					 long result)
{
	u64 row = syscall_row(state->nr);
	u8 which = call_paths_of[row];
	s32 dirfd = CALL_PATH_AT_CWD;

	if (!which || !record_files || !state->in_syscall || !state->begin_ns || state->compat ||
	    syscall_unwanted[row] || (spans_only && !context_is_set(&state->ctx)) ||
	    (result == 0 && syscall_keeps_args(state->nr)))
		return;
	if (which & CALL_PATH_DIRFD)
		dirfd = syscall_fd(regs, (which & CALL_PATH_MASK) - 1);
	call_path(state->nr, state->begin_ns, dirfd, syscall_fd(regs, which & CALL_PATH_MASK),
		  result);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);

	if (!state || !(state->flags & (STATE_IN | STATE_PENDING)))
		return 0;
	if (state->fault_begin_ns)
		fault_soft_end();
	state->held_tid = 0;
	if (state_in(state) && !(state->flags & STATE_NEWBORN))
		syscall_record(state, task, regs, result);
	if (state_in(state))
		syscall_path(state, regs, result);
	if (state_in(state))
		syscall_files(state, regs, result);
	/* The name is given whether or not the kernel can show it: its result is ignored. */
	if (state_in(state) && state->in_syscall && !state->compat)
		notice_syscall(task, regs, state->nr);
	state->flags &= ~STATE_NEWBORN;
	if (result == -ERESTART_RESTARTBLOCK && state->in_syscall && !state->compat)
		state->flags |= STATE_RESTARTS;
	state->in_syscall = 0;
	state->begin_ns = 0;
	return 0;
}
