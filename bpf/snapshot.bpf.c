// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The snapshot: iterators over threads and their files, which capture runs once the other programs
 * are attached. They also put the threads that the user named in scope. Capture runs them until no
 * new thread is found.
 */
#include "bpf/call.h"
#include "bpf/cgroup.h"
#include "bpf/context.h"
#include "bpf/detail.h"
#include "bpf/file.h"
#include "bpf/in_request.h"
#include "bpf/iterator.h"
#include "bpf/leave.h"
#include "bpf/named.h"
#include "bpf/path.h"
#include "bpf/request.h"
#include "bpf/restart.h"
#include "bpf/ring.h"
#include "bpf/seccomp.h"
#include "bpf/socket.h"
#include "bpf/stack.h"
#include "record/syscalls.h"

char LICENSE[] SEC("license") = "GPL";

#define ERESTART_RESTARTBLOCK 516

static const u8 snapshot_fdarg[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT;

u64 snapshot_new = 0;	 /* threads that were new to this run */
u32 snapshot_again = 0;	 /* set by capture: also tell of threads that were told before */
u64 snapshot_enters = 0; /* set by capture once recording is under way: new threads came late */

/*
 * Run once by capture, which in a pid namespace cannot know the kernel's number of its process
 * otherwise. Not 0: failed.
 */
SEC("raw_tp")
int own_find(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct upid number = {};

	own_tgid = task->tgid;
	own_level = task->thread_pid->level;
	if (own_level > 32 ||
	    bpf_probe_read_kernel(&number, sizeof(number), &task->thread_pid->numbers[own_level]))
		return 1;
	own_namespace = (u64)number.ns;
	return 0;
}

/* The thread that will exec the command, by own_number(); reset to 0 when it is marked. */
u32 scope_seed = 0;
u32 scope_seed_uid = 0; /* its real user */

SEC("iter/task")
int scope_seeds(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *state;

	if (!task || !scope_seed || own_number(task) != scope_seed)
		return 0;
	state = state_make(task);
	if (!state)
		return 0;
	state_set(state, STATE_DECIDED | STATE_PENDING);
	scope_seed_uid = BPF_CORE_READ(task, real_cred, uid.val);
	scope_seed = 0;
	return 0;
}

u32 scope_grown = 0;	/* scope_children() has named a process */
u32 scope_overflow = 0; /* it found more than there is room for */

/*
 * Names the children of the processes that are named. Capture runs it until it finds no more, with
 * the other programs attached, which follow the later children of those that are named.
 */
SEC("iter/task")
int scope_children(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 pid;
	u8 one = 1;

	if (!task || task->pid != task->tgid || (u32)task->tgid == own_tgid || scope_names(task) ||
	    !scope_names(task->real_parent))
		return 0;
	pid = own_number(task);
	if (!pid)
		return 0;
	if (bpf_map_update_elem(&scope_pids, &pid, &one, BPF_ANY))
		scope_overflow = 1;
	else
		scope_grown = 1;
	return 0;
}

#define ANCESTORS_MAX 32

/* Processes that are services of scopes, a bit for each place. Capture clears it after each look.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DETAIL_MEMBERS);
	__type(key, u32);
	__type(value, u32);
} detail_members SEC(".maps");

static __always_inline bool detail_is_member(u32 scope, u32 tgid)
{
	u32 *of = bpf_map_lookup_elem(&detail_members, &tgid);

	return of && *of >> (scope & 15) & 1;
}

/*
 * Whether the thread itself, or its process, is what the scope names. Threads are given by their
 * addresses. Global functions, so that the verifier looks at each once.
 */
__noinline int detail_names_it(u32 scope, u64 task_at, u64 leader_at)
{
	struct task_struct *task = (void *)task_at, *leader = (void *)leader_at;
	u64 name[2] = {};

	if (scope > DETAIL_SCOPES)
		return 0;
	switch (detail_kinds[scope]) {
	case DETAIL_SCOPE_PID:
		return task_is_numbered(leader, detail_pids[scope]);
	case DETAIL_SCOPE_SERVICE:
		return detail_is_member(scope, BPF_CORE_READ(leader, tgid));
	case DETAIL_SCOPE_COMM:
		bpf_probe_read_kernel_str(name, sizeof(name), &task->comm);
		return name[0] == detail_comms[scope][0] && name[1] == detail_comms[scope][1];
	}
	return 0;
}

/* Whether the thread, or one that made it or its process, is in the scope. */
__noinline int detail_is_of(u32 scope, u64 task_at)
{
	struct task_struct *task = (void *)task_at, *leader;

	for (int i = 0; i < ANCESTORS_MAX && task; i++) {
		leader = BPF_CORE_READ(task, group_leader);
		if (BPF_CORE_READ(leader, pid) == 0)
			return 0;
		if (detail_names_it(scope, (u64)task, (u64)leader))
			return 1;
		task = task == leader ? BPF_CORE_READ(task, real_parent) : leader;
	}
	return 0;
}

u32 detail_first = 0; /* set by capture: the first scope that detail_seeds looks at */
u32 detail_end = 0;   /* behind the last one; cgroups are looked at in any case */
u32 detail_again = 0; /* set by capture: of these scopes, only those of services */

static __always_inline bool detail_is_looked_at(u32 scope)
{
	u32 kind = detail_kinds[scope];

	if (detail_again)
		return kind == DETAIL_SCOPE_SERVICE;
	return kind != DETAIL_SCOPE_NONE && kind != DETAIL_SCOPE_CGROUP &&
	       kind != DETAIL_SCOPE_SPANS;
}

/*
 * The scopes that detail_seeds looks at, by names and pids, that the thread is in: a bit for each.
 * Likewise global.
 */
__noinline u32 detail_scopes_of(u64 task_at)
{
	u32 first = detail_first, end = detail_end, in = 0;

	for (u32 i = 0; i <= DETAIL_SCOPES; i++) {
		if (i >= first && i < end && detail_is_looked_at(i) && detail_is_of(i, task_at))
			in |= 1u << i;
	}
	return in;
}

/* Finds the scopes of detail of the threads that exist. */
SEC("iter/task")
int detail_seeds(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *state;
	u64 address;
	u32 in;

	if (!task || task->flags & PF_KTHREAD)
		return 0;
	state = state_known(task);
	if ((!state && !scope_host) ||
	    bpf_probe_read_kernel(&address, sizeof(address), &task)) /* as a plain number */
		return 0;
	in = detail_scopes_of(address);
	if (!state && in)
		state = state_of(task);
	for (u32 i = 0; state && i <= DETAIL_SCOPES; i++) {
		if (in & 1u << i)
			detail_take(state, i);
	}
	if (!detail_hierarchies)
		return 0;
	in = detail_cgroups(address);
	if (!state && in)
		state = state_of(task);
	if (state)
		detail_take_cgroups(state, in);
	return 0;
}

/* While programs of byte ranges are not attached: forgets where calls of before were. */
SEC("iter/task")
int bytes_forget(struct bpf_iter__task *ctx)
{
	struct thread_state *state = ctx->task ? state_known(ctx->task) : NULL;

	if (state) {
		state->bytes_sock = 0;
		state->request = 0;
	}
	return 0;
}

/*
 * Before the end of a pause: forgets what was begun and not seen to end, and since when threads are
 * in scope. With that, records that follow would begin in the pause, or before it.
 */
SEC("iter/task")
int pause_forget(struct bpf_iter__task *ctx)
{
	struct thread_state *state = ctx->task ? state_known(ctx->task) : NULL;

	if (!state)
		return 0;
	state->bytes_sock = 0;
	state->request = 0;
	state->fault_begin_ns = 0;
	state->off_ns = 0;
	state->stack_told_ns = 0;
	state->stack_since_ns = 0;
	if (!(state->flags & STATE_UNTOLD))
		state->entered_ns = 0;
	return 0;
}

struct process_scratch {
	struct record_process r;
	u8 rest[1152 - sizeof(struct record_process)];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct process_scratch);
} process_scratches SEC(".maps");

struct thread_scratch {
	struct record_thread r;
	u8 rest[128 - sizeof(struct record_thread)];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct thread_scratch);
} thread_scratches SEC(".maps");

/* Whether a signal has interrupted the call, which may go on as restart_syscall. */
static __always_inline bool snapshot_broken_off(struct pt_regs *regs)
{
	return call_came_by_one(regs) && (s32)regs->ax == -ERESTART_RESTARTBLOCK;
}

/*
 * Whether a thread that sleeps outside of calls is in a fault. It may also be held for memory or
 * I/O on its way back to user mode, which cannot be told apart.
 */
static __always_inline bool snapshot_in_fault(struct pt_regs *regs, u8 state)
{
	return (s32)regs->orig_ax == -1 && regs->ip &&
	       (state == LEAVE_sleep || state == LEAVE_disk_sleep);
}

/* The call that a thread is in. */
struct snapshot_call {
	u64 before; /* `call` of the thread's state, before the thread was looked at */
	u64 begin_ns;
	unsigned long switches; /* that the thread had made when it was looked at */
	u32 row;
	bool compat;
	bool broken_off; /* it is between that and restart_syscall */
};

/*
 * Fills in the file of the call's descriptor. Arguments of a 32-bit program that are in memory
 * cannot be read here, since it is the memory of another process.
 */
static __always_inline void snapshot_file(struct record_thread *r, struct task_struct *task,
					  struct pt_regs *regs, const struct snapshot_call *call)
{
	u64 args[6], row = call->row;
	u8 which;

	BOUND(row, 511);
	which = snapshot_fdarg[row];
	if (!which || (call->compat && r->nr == SYSCALL_COMPAT_NR_socketcall))
		return;
	call_registers(args, regs, call->compat);
	file_of_task(&r->file, task, call_argument(args, which));
}

static __always_inline bool snapshot_ran(struct task_struct *task, unsigned long switches)
{
	return task->on_cpu || task->nvcsw + task->nivcsw != switches;
}

/*
 * Fills in the call of a thread whose begin was not seen, or with which the thread will go on. The
 * thread may run meanwhile: the call is only told as open if it has not ended.
 */
static __always_inline bool snapshot_enter(struct thread_state *state, struct task_struct *task,
					   const struct record_thread *r,
					   const struct snapshot_call *call)
{
	struct thread_state open = {.call = call->before};

	open.nr = r->nr;
	open.row = call->row;
	open.compat = call->compat;
	open.in_syscall = call->broken_off ? 0 : IN_SYSCALL_FOUND;
	if (snapshot_ran(task, call->switches) ||
	    __sync_val_compare_and_swap(&state->begin_ns, 0, call->begin_ns))
		return false; /* the thread tells of a later call by itself */
	state->found.arg0 = r->arg0;
	state->found.file = r->file;
	if (__sync_val_compare_and_swap(&state->call, call->before, open.call) == call->before) {
		if (!call->broken_off)
			return !snapshot_ran(task, call->switches);
		state->restarts = RESTARTS_FOUND;
	}
	/* the thread is in no call, or in another one, unless it found this one itself
	 * (call_find()) */
	if (*(volatile u8 *)&state->in_syscall != IN_SYSCALL_SOFT)
		__sync_val_compare_and_swap(&state->begin_ns, call->begin_ns, 0);
	return false;
}

static __always_inline void snapshot_fill_call(struct record_thread *r,
					       const struct thread_state *state,
					       struct task_struct *task, struct pt_regs *regs,
					       struct snapshot_call *call)
{
	u32 nr = regs->orig_ax;

	call->row = call_row(nr, call->compat, regs);
	if (call->row == SYSCALL_NR_restart_syscall) {
		nr = restart_call(task, nr);
		call->row = call_row(nr, call->compat, regs);
	}
	r->nr = call_number(nr);
	r->arg0 = call->compat ? (u32)regs->bx : regs->di;
	snapshot_file(r, task, regs, call);
	if (!r->file.kind)
		call_fill_none(&r->file, call->row, task, call->compat);
	if (r->state == LEAVE_sleep && state->serves)
		r->file.flags |= in_request_flag(state, task, call->row, r->arg0);
}

static __always_inline bool snapshot_is_supervised(struct task_struct *task)
{
	return seccomp_holds((u64)kernel_read_pointer(&task)); /* its address, as a number */
}

/* Fills in the call of a thread off the CPU, and keeps it for later records. */
static __always_inline void
snapshot_fill_syscall(struct record_thread *r, struct thread_state *state, struct task_struct *task)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct snapshot_call call = {.before = *(volatile u64 *)&state->call,
				     .begin_ns = state_known_ns(state),
				     .switches = task->nvcsw + task->nivcsw,
				     .compat = task->thread_info.status & TS_COMPAT,
				     .broken_off = snapshot_broken_off(regs)};

	if (snapshot_in_fault(regs, r->state))
		r->mode = MODE_fault;
	/* a thread that is held by a signal, a tracer or a supervisor is behind or before its call
	 */
	if (!call.broken_off && (!call_is_open(regs) || r->state == LEAVE_stopped ||
				 r->state == LEAVE_traced || snapshot_is_supervised(task)))
		return;
	snapshot_fill_call(r, state, task, regs, &call);
	if (!call.broken_off)
		r->mode = MODE_syscall | (call.compat ? MODE_COMPAT : 0);
	if (!calls_are_followed(state))
		return; /* at its next switch the thread says it anew */
	if (state->in_syscall || state->begin_ns)
		r->since_ns = call.broken_off ? 0 : state_call_ns(state);
	else if (!calls_raise() && snapshot_enter(state, task, r, &call))
		r->since_ns = call.begin_ns;
	if (call.broken_off) { /* until it goes on, it is in no call */
		r->nr = 0;
		r->arg0 = 0;
		__builtin_memset(&r->file, 0, sizeof(r->file));
	}
}

/* A thread that a signal ends is in no call any more: fills that in, also for later records. */
static __always_inline void snapshot_fill_exit(struct record_thread *r, struct thread_state *state)
{
	u64 exit_ns = state_known_ns(state);
	u64 known_ns = __sync_val_compare_and_swap(&state->exit_ns, 0, exit_ns);

	r->mode = MODE_exit;
	r->since_ns = known_ns ? known_ns : exit_ns;
}

/* The reason why a thread is off its CPU, or that it runs. */
static __always_inline u8 snapshot_leave(struct task_struct *task)
{
	u8 state = leave_of_task_state(task->__state);

	if (state == LEAVE_preempted)
		return leave_of_runnable(task);
	return state == LEAVE_sleep && task_frozen(task) ? LEAVE_frozen : state;
}

static __always_inline long snapshot_thread(struct seq_file *seq, struct task_struct *task,
					    struct thread_state *state)
{
	struct thread_scratch *out;
	struct record_thread *r;
	u32 zero = 0;
	long n;

	/* not on the stack, of which the verifier knows each byte: it looked at each way to fill it
	 */
	out = bpf_map_lookup_elem(&thread_scratches, &zero);
	if (!out)
		return -1;
	r = &out->r;
	__builtin_memset(out, 0, sizeof(*out));
	r->head.kind = RECORD_thread;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->start_ns = task->start_time;
	r->flags = task->pid != task->tgid ? THREAD_IS_THREAD : 0;
	if (task->on_cpu)
		r->flags |= THREAD_ON_CPU;
	r->state = snapshot_leave(task);
	if (task->flags & PF_KTHREAD) {
		r->flags |= THREAD_KERNEL;
		r->mode = MODE_kernel_thread;
	} else if (task_is_kernels(task)) {
		r->mode = MODE_kernel_thread;
		if (task->flags & PF_IO_WORKER)
			request_fill(&r->file, (u64)kernel_read_pointer(&task));
	} else if (task->flags & PF_SIGNALED) {
		snapshot_fill_exit(r, state);
	} else if (!task->on_cpu) {
		snapshot_fill_syscall(r, state, task);
	}
	/* spans of the others are told when they run */
	if (spans_only && state->in_syscall < IN_SYSCALL_SOFT && !context_is_set(&state->ctx))
		r->flags |= THREAD_UNFOLLOWED;
	n = bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), task->comm);
	r->comm_len = n > 0 ? n - 1 : 0;
	r->head.slots = sizeof(*out) / RECORD_SLOT_BYTES;
	r->head.cpu = bpf_get_smp_processor_id();
	r->head.time_ns = bpf_ktime_get_ns();
	if (state->flags & STATE_UNTOLD) {
		/* this is before its other records */
		r->head.time_ns = state->entered_ns;
		r->flags |= THREAD_ENTERS;
	}
	if (stack_min_ns && !task->on_cpu && !state->off_ns)
		state->off_ns = r->head.time_ns;
	if (r->since_ns) /* a call that has begun meanwhile is not told here */
		r->since_ns = r->since_ns < r->head.time_ns ? r->head.time_ns - r->since_ns : 0;
	return bpf_seq_write(seq, out, sizeof(*out));
}

/* By address of a table of descriptors: the first process with it in this run of the iterator. */
struct table_owner {
	u64 session;
	u32 pid, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, struct table_owner);
} snapshot_tables SEC(".maps");

/* Runs go from the lowest pid to the highest. */
static __always_inline u32 snapshot_table_owner(struct task_struct *task, u64 session)
{
	struct table_owner fresh = {.session = session, .pid = task->tgid}, *known;
	u64 table = (u64)task->files;

	if (!table)
		return fresh.pid;
	known = bpf_map_lookup_elem(&snapshot_tables, &table);
	if (known && known->session == session)
		return known->pid;
	bpf_map_update_elem(&snapshot_tables, &table, &fresh, BPF_ANY);
	return fresh.pid;
}

/* Tells a process. Its command line is in its own memory, so capture reads it from /proc. */
static __always_inline long snapshot_process(struct seq_file *seq, struct task_struct *task,
					     u64 session)
{
	struct process_scratch *out;
	struct record_process *r;
	u32 zero = 0;
	u64 at;

	out = bpf_map_lookup_elem(&process_scratches, &zero);
	if (!out)
		return -1;
	r = &out->r;
	__builtin_memset(r, 0, 64);
	r->head.kind = RECORD_process;
	r->head.seq = own_number(task); /* for capture's look into /proc */
	r->head.tid = task->tgid;
	r->head.pid = task->tgid;
	r->parent_pid = BPF_CORE_READ(task, real_parent, tgid);
	r->start_ns = task->start_time;
	r->cgroup = cgroup_of(task);
	r->uid = BPF_CORE_READ(task, real_cred, uid.val);
	r->files = snapshot_table_owner(task, session);
	at = bpf_probe_read_kernel_str(r->command, 16, task->comm);
	BOUND(at, 31);
	r->command_len = at;
	return iterator_write(seq, &r->head,
			      __builtin_offsetof(struct record_process, command) + at, RARE_BYTES);
}

static __always_inline struct thread_state *snapshot_state_of(struct task_struct *task)
{
	struct thread_state *state;
	u32 named;

	if (scope_host)
		return state_of(task);
	named = scope_of(task);
	if (!named)
		return state_known(task);
	state = state_make(task);
	if (!state)
		ring_count_lost(RING_LOST_ANY);
	if (!state || (state->flags & (STATE_IN | STATE_PENDING)))
		return state;
	if (!state_claim(state))
		return state;
	if (snapshot_enters)
		state_enter(state, task, named | STATE_UNTOLD, bpf_ktime_get_ns());
	else
		state_enter(state, task, named, 0);
	return state;
}

/* Takes a thread out of scope that has moved with its process: only the leader was told. */
static __always_inline void snapshot_leaves(struct seq_file *seq, struct task_struct *task,
					    struct thread_state *state)
{
	struct {
		struct record_cgroup_attach r;
		u8 rest[64 - sizeof(struct record_cgroup_attach)];
	} out = {};

	cgroup_attach_fill(&out.r, task, BPF_CORE_READ(task, cgroups, dfl_cgrp));
	out.r.head.slots = 1;
	out.r.head.cpu = bpf_get_smp_processor_id();
	if (state->flags & STATE_UNTOLD) { /* it came into scope just now */
		out.r.flags = CGROUP_ENTERED_SCOPE;
		out.r.head.time_ns = state->entered_ns;
		if (bpf_seq_write(seq, &out, sizeof(out)))
			return;
	}
	out.r.flags = CGROUP_LEFT_SCOPE;
	out.r.head.time_ns = bpf_ktime_get_ns();
	if (bpf_seq_write(seq, &out, sizeof(out)) == 0)
		state_clear(state, STATE_IN | STATE_BY_CGROUP | STATE_UNTOLD);
}

/* Whether the process is told with this thread: the leader, or any thread if that is not in scope.
 */
static __always_inline bool snapshot_tells_process(struct task_struct *task,
						   const struct thread_state *state)
{
	return task->pid == task->tgid || ((state->flags & STATE_BY_CGROUP) &&
					   !cgroup_in_scope(KERNEL_READ(task, group_leader)));
}

SEC("iter/task")
int snapshot_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq; /* the verifier is slow at each such load */
	struct task_struct *leader;
	struct thread_state *state;

	if (!task)
		return 0;
	leader = task->group_leader;
	state = snapshot_state_of(task);
	named_keep(task, state);
	if (!state_lives(state))
		return 0;
	/* a thread that ends moves no more, but its cgroup may be removed before it is gone */
	if ((state->flags & STATE_BY_CGROUP) && !(task->flags & PF_EXITING) &&
	    !cgroup_in_scope(task)) {
		snapshot_leaves(seq, task, state);
		return 0;
	}
	if ((state->flags & STATE_SEEN) && !snapshot_again)
		return 0;
	if (!(state->flags & STATE_SEEN)) /* state that was not made by state_enter() */
		state_find_creator(state, task);
	if (snapshot_tells_process(task, state) &&
	    snapshot_process(seq, leader, ctx->meta->session_id))
		return 0;
	/* one that has ended, but for its place in the list, has no time any more */
	if (leave_of_task_state(task->__state) != LEAVE_dead && snapshot_thread(seq, task, state))
		return 0;
	state_clear(state, STATE_UNTOLD);
	state_set(state, STATE_SEEN);
	snapshot_new++;
	return 0;
}

/* Before threads are told: notes which processes have a client, and through which epoll it comes.
 */
SEC("iter/task_file")
int snapshot_clients(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct thread_state *state;
	struct socket *socket;
	struct sock *sk;

	if (!task || !file || (KERNEL_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	socket = KERNEL_READ(file, private_data);
	sk = KERNEL_READ(socket, sk);
	state = state_try(task);
	if (!state || !sk ||
	    !(file_side(sk, KERNEL_READ(sk, __sk_common.skc_family), KERNEL_READ(sk, sk_protocol)) &
	      FILE_ACCEPTED))
		return 0;
	state->serves = 1;
	if (!state->client_epoll)
		state->client_epoll = socket_epoll(sk, file);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_scratch);
} snapshot_paths SEC(".maps");

/*
 * Tells each open file of each process, once for each table of descriptors. Files that the waiting
 * command will have after its exec are marked by head.seq: capture tells them later.
 */
SEC("iter/task_file")
int snapshot_files(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct path_scratch *scratch;
	struct thread_state *state;
	u32 zero = 0, pending;
	u64 bytes;

	if (!task || !file)
		return 0;
	state = state_known(task);
	scratch = bpf_map_lookup_elem(&snapshot_paths, &zero);
	pending = state ? state->flags & STATE_PENDING : 0;
	if ((!state_lives(state) && !pending) || !scratch)
		return 0;
	fd_fill(scratch, task, file, ctx->fd, FD_snapshot);
	if (task->pid != task->tgid) /* the kernel skips threads that share their leader's table */
		scratch->r.flags |= FD_OWN_TABLE;
	if (pending && scratch->r.flags & FD_CLOEXEC_SET)
		return 0;
	scratch->r.head.seq = pending;
	if (iterator_write(ctx->meta->seq, &scratch->r.head,
			   __builtin_offsetof(struct record_fd, path) + scratch->r.path_len,
			   RARE_BYTES))
		return 0;
	bytes = socket_fill((struct socket_scratch *)scratch, task, file);
	scratch->r.head.seq = pending;
	if (bytes)
		iterator_write(ctx->meta->seq, &scratch->r.head, bytes, RARE_BYTES);
	return 0;
}
