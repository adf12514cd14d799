// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The life of threads and processes: fork, exec, exit, names. They are recorded with any filter.
 * Also hands the scope of a recording on to children.
 */
#include "bpf/call_now.h"
#include "bpf/call_path.h"
#include "bpf/cgroup.h"
#include "bpf/cgroup_again.h"
#include "bpf/context.h"
#include "bpf/detail.h"
#include "bpf/fault.h"
#include "bpf/kernel_versions.h"
#include "bpf/named.h"
#include "bpf/notice_emit.h"
#include "bpf/ring.h"
#include "bpf/told.h"

char LICENSE[] SEC("license") = "GPL";

#define SIGNAL_GROUP_EXIT 4 /* all threads of the process end */
#define EXEC_TEXT 1023
#define EXEC_PROGRAM 1007 /* with a name before it, of 16 bytes */

struct exec_scratch {
	struct record_exec r;
	u8 rest[2304 - sizeof(struct record_exec)];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct exec_scratch);
} exec_scratches SEC(".maps");

static __always_inline void fork_record(struct task_struct *parent, struct task_struct *child,
					u64 clone_flags)
{
	struct {
		struct record_fork r;
		u8 rest[128 - sizeof(struct record_fork)];
	} out = {};
	struct record_fork *r = &out.r;

	r->head.kind = RECORD_fork;
	r->head.tid = child->pid;
	r->head.pid = child->tgid;
	r->parent_tid = parent->pid;
	r->parent_pid = parent->tgid;
	r->start_ns = child->start_time;
	r->cgroup = cgroup_of(child);
	if (clone_flags & CLONE_FILES)
		r->flags |= THREAD_SHARES_FILES;
	if (clone_flags & CLONE_THREAD)
		r->flags |= THREAD_IS_THREAD;
	if (child->flags & PF_KTHREAD)
		r->flags |= THREAD_KERNEL;
	r->comm_len = bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), child->comm) - 1;
	rare_emit(&r->head, sizeof(*r));
	if (!(r->flags & (THREAD_IS_THREAD | THREAD_KERNEL)))
		ring_wake_for_news();
}

/* The child has a copy of its parent's memory, so the parent's location holds for it. */
static __always_inline void location_inherit(struct task_struct *parent, struct task_struct *child)
{
	struct context_location *location, copy;
	u32 tgid = parent->tgid;

	location = bpf_map_lookup_elem(&locations, &tgid);
	if (!location)
		return;
	copy = *location;
	tgid = child->tgid;
	bpf_map_update_elem(&locations, &tgid, &copy, BPF_ANY);
}

static __always_inline void location_drop(struct task_struct *task)
{
	u32 tgid = task->tgid;

	bpf_map_delete_elem(&locations, &tgid);
	bpf_map_delete_elem(&executed, &tgid);
}

/* Notes the number of a new thread in its pid namespace, which its libfathom will write. */
static __always_inline void notice_thread(struct task_struct *task)
{
	struct pid *pid = KERNEL_READ(task, thread_pid);
	u32 level = KERNEL_READ(pid, level);
	int nr = 0;

	if (level == 0)
		return;
	if (level > 32 || bpf_probe_read_kernel(&nr, sizeof(nr), &pid->numbers[level].nr))
		return;
	notice_emit(task, NOTICE_THREAD, nr);
}

/* Counts moves into scope, after which capture must look at threads and files. */
u64 scope_moves = 0;

/* Threads of the command and of its descendants that have begun and not ended, since its exec. */
u64 descendants = 0;

static __always_inline void descendant_ends(struct thread_state *state)
{
	if (!state || !(state->flags & STATE_DESCENDS))
		return;
	state_clear(state, STATE_DESCENDS);
	if (__sync_fetch_and_add(&descendants, -1) == 1)
		ring_wake_for_news();
}

SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *task, u64 clone_flags)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct thread_state *mine = state_of(parent), *state;
	bool told = *(volatile u32 *)&recording, entered = false;
	u32 scope = 0, own, flags;

	if (mine)
		scope = mine->flags & (STATE_IN | STATE_PENDING | STATE_BY_CGROUP);
	else if (!scope_host)
		scope = scope_of(parent);
	/* clone3 can put it into another cgroup than its parent's, which can be moved meanwhile */
	if (scope_hierarchies && (scope & (STATE_IN | STATE_BY_CGROUP)) != STATE_IN) {
		own = scope_of(task);
		entered = own && told && !(scope & STATE_IN);
		scope = own ? own : scope & STATE_PENDING;
	}
	if (!scope_host && !scope) {
		named_drop(task->pid); /* a state there belongs to an earlier thread */
		state_drop(task);
		return 0;
	}
	state = state_make_new(task);
	if (!state) {
		ring_count_lost(RING_LOST_ANY);
		return 0;
	}
	/* a thread that is made before recording begins is told by the snapshot */
	flags = STATE_DECIDED | (told && !entered ? STATE_SEEN : 0);
	if (scope_host)
		flags |= (u32)task->tgid == own_tgid ? 0 : STATE_IN;
	else
		flags |= scope;
	state->newborn = 1;
	detail_inherit(state, mine);
	if (detail_hierarchies && (!mine || task->cgroups != parent->cgroups))
		detail_match_cgroups(state, (u64)kernel_read_pointer(&task));
	detail_begin(state);
	if (mine && (clone_flags & CLONE_VM) && !(clone_flags & CLONE_SETTLS))
		state->creator_tp = parent->thread.fsbase;
	/* whose creator waits for it works for the creator's span; no other one shares it */
	if (mine && (!state->creator_tp || (clone_flags & CLONE_VFORK)))
		state->ctx = mine->ctx;
	/* a thread with storage of its own in the same memory has no record yet */
	if (mine && (!(clone_flags & CLONE_VM) || (clone_flags & CLONE_VFORK)))
		state->record_at = mine->record_at;
	if (mine && (mine->flags & STATE_DESCENDS)) {
		flags |= STATE_DESCENDS;
		__sync_fetch_and_add(&descendants, 1);
	}
	state_set(state, flags);
	if (!(clone_flags & CLONE_THREAD))
		location_inherit(parent, task);
	named_keep(task, state);
	if (told && (state->flags & STATE_IN)) {
		fork_record(parent, task, clone_flags);
		notice_thread(task);
	}
	if (entered) /* its open files were not told */
		__sync_fetch_and_add(&scope_moves, 1);
	return 0;
}

/* Drops the state of a thread, which does not go by itself (bpf/state.h). */
SEC("tp_btf/sched_process_free")
int BPF_PROG(sched_process_free, struct task_struct *task)
{
	state_drop(task);
	return 0;
}

/* Records the name of a new cgroup, for threads that will be in it. */
SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(cgroup_mkdir, struct cgroup *made, const char *path)
{
	struct record_cgroup *r;
	u32 zero = 0;
	long n;

	_Static_assert(sizeof(*r) <= sizeof(struct exec_scratch), "it fits");
	if (scope_hierarchies | detail_hierarchies)
		cgroup_take_again(made, path);
	if (!*(volatile u32 *)&recording)
		return 0; /* the snapshot finds it later */
	r = bpf_map_lookup_elem(&exec_scratches, &zero);
	if (!r)
		return 0;
	__builtin_memset(r, 0, 64);
	r->head.kind = RECORD_cgroup;
	r->id = BPF_CORE_READ(made, kn, id);
	r->hierarchy = BPF_CORE_READ(made, root, hierarchy_id);
	n = bpf_probe_read_kernel_str(r->path, sizeof(r->path), path);
	if (n <= 1)
		return 0;
	if (n == sizeof(r->path)) /* the path may be longer */
		ring_count_incomplete();
	n--;
	BOUND(n, 1023);
	r->path_len = n;
	rare_emit(&r->head, __builtin_offsetof(struct record_cgroup, path) + r->path_len);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(cgroup_rmdir, struct cgroup *gone, const char *path)
{
	if (scope_hierarchies | detail_hierarchies)
		cgroup_keep_path(gone, path);
	return 0;
}

/*
 * A thread has moved to another cgroup; if the whole process moved, only the leader is told. A
 * thread that comes into scope is recorded from here on. Capture then looks at its name and files,
 * and at the other threads of its process.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(cgroup_attach_task, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct thread_state *state = state_of(task);
	u32 named = scope_hierarchies ? scope_of(task) : 0;
	u64 now = bpf_ktime_get_ns();
	bool enters;
	struct {
		struct record_cgroup_attach r;
		u8 rest[128 - sizeof(struct record_cgroup_attach)];
	} out = {};

	if (detail_hierarchies && state) {
		detail_match_cgroups(state, (u64)kernel_read_pointer(&task));
		detail_moves_tell();
	}
	if (!*(volatile u32 *)&recording)
		return 0; /* the snapshot sees later where it is */
	if (named && !state_lives(state)) {
		state = state_make(task);
		if (!state) {
			ring_count_lost(RING_LOST_ANY);
			return 0;
		}
		enters = state_claim(state);
		if (enters)
			out.r.flags = CGROUP_ENTERED_SCOPE;
		cgroup_attach_fill(&out.r, task, to);
		rare_emit(&out.r.head, sizeof(out.r));
		if (enters) /* no later than that record, and before any other of it */
			state_enter(state, task, named, now);
		detail_match_name(state, task->comm);
		if (detail_hierarchies)
			detail_match_cgroups(state, (u64)kernel_read_pointer(&task));
		__sync_fetch_and_add(&scope_moves, 1);
		ring_wake_for_news();
		return 0;
	}
	if (!state_lives(state))
		return 0;
	if ((state->flags & STATE_BY_CGROUP) && !named) {
		state_clear(state, STATE_IN | STATE_BY_CGROUP | STATE_UNTOLD);
		out.r.flags = CGROUP_LEFT_SCOPE;
		__sync_fetch_and_add(&scope_moves, 1);
	}
	named_keep(task, state);
	cgroup_attach_fill(&out.r, task, to);
	rare_emit(&out.r.head, sizeof(out.r));
	if (out.r.flags & CGROUP_LEFT_SCOPE) /* capture takes its other threads out */
		ring_wake_for_news();
	return 0;
}

/* Reads name, executable and arguments, as far as there is room. Returns their bytes. */
static __always_inline u64 exec_read_command(char *to, struct task_struct *task,
					     struct linux_binprm *bprm)
{
	u64 begin = BPF_CORE_READ(task, mm, arg_start), end = BPF_CORE_READ(task, mm, arg_end);
	u64 at, n = end - begin;
	long got;

	at = bpf_probe_read_kernel_str(to, 16, task->comm);
	BOUND(at, 31);
	got = bpf_probe_read_kernel_str(to + at, EXEC_PROGRAM, bprm->filename);
	if (got > 0)
		at += got;
	if (got == EXEC_PROGRAM)
		ring_count_incomplete();
	BOUND(at, 1023);
	if (begin >= end)
		return at;
	if (n > EXEC_TEXT - at) {
		n = EXEC_TEXT - at;
		ring_count_incomplete();
	}
	BOUND(n, 1023);
	if (bpf_probe_read_user(to + at, n, (void *)begin) == 0)
		at += n;
	return at;
}

/* Records the cgroup of the command, which is in no snapshot. A global function for the verifier.
 */
__noinline int exec_cgroup(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct {
		struct record_cgroup_attach r;
		u8 rest[128 - sizeof(struct record_cgroup_attach)];
	} out = {};

	out.r.flags = CGROUP_FOUND;
	cgroup_attach_fill(&out.r, task, BPF_CORE_READ(task, cgroups, dfl_cgrp));
	return rare_emit(&out.r.head, sizeof(out.r));
}

/*
 * After an exec the old location is void. The process most probably has its context where other
 * processes of the same program have it, so that location is assumed until capture has looked. The
 * file is given by its address. Returns whether it has a context. A global function for the
 * verifier.
 */
__noinline int location_exec(u32 tgid, u64 file_at)
{
	struct file *file = (void *)file_at;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct context_executed now = {};
	struct context_location *usual;

	now.program.inode = BPF_CORE_READ(inode, i_ino);
	now.program.bytes = BPF_CORE_READ(inode, i_size);
	now.program.device = BPF_CORE_READ(inode, i_sb, s_dev);
	inode_changed(inode, &now.program.changed_s, &now.program.changed_ns);
	now.time_ns = bpf_ktime_get_ns();
	usual = bpf_map_lookup_elem(&program_locations, &now.program);
	if (usual && context_location_tells(usual))
		now.assumed = *usual;
	/* capture corrects an assumption when it reads that one was made */
	if (bpf_map_update_elem(&executed, &tgid, &now, BPF_ANY))
		now.assumed.known = now.assumed.light.id = 0;
	if (context_location_tells(&now.assumed) &&
	    bpf_map_update_elem(&locations, &tgid, &now.assumed, BPF_ANY) == 0)
		return now.assumed.known;
	bpf_map_delete_elem(&locations, &tgid);
	return 0;
}

/* With spans_only: records that the spans of the process are seen from here on. */
static __always_inline void follow_record(struct task_struct *task)
{
	struct {
		struct record_filter r;
		u8 rest[128 - sizeof(struct record_filter)];
	} out = {};

	out.r.head.kind = RECORD_filter;
	out.r.head.pid = task->tgid;
	out.r.flags = FILTER_SPANS | FILTER_FOLLOWS;
	rare_emit(&out.r.head, sizeof(out.r));
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct thread_state *state = state_of(task);
	struct exec_scratch *out;
	struct record_exec *r;
	u32 zero = 0, begins;
	bool assumed;
	u64 at;

	if (!state || !(state->flags & (STATE_IN | STATE_PENDING)))
		return 0;
	begins = state->flags & STATE_PENDING ? EXEC_BEGINS : 0;
	state->held_tid = 0;
	state->tid = task->pid;
	state->creator_tp = 0;
	state->record_at = 0; /* it was in the old memory */
	state->light_id = 0;
	state->serves = state->request = 0;
	state->client_epoll = 0;
	/* of the command this record tells all that a snapshot would */
	state_set(state, begins ? STATE_IN | STATE_SEEN | STATE_DESCENDS : STATE_IN);
	if (begins)
		__sync_fetch_and_add(&descendants, 1);
	detail_match_name(state, task->comm);
	/* state->ctx stays until the next call: execve ran under the span that made it */
	assumed = location_exec(task->tgid, (u64)BPF_CORE_READ(bprm, file));
	context_refresh(state, task->tgid);
	if (old_pid != task->pid)
		named_drop(old_pid);
	named_keep(task, state);
	out = bpf_map_lookup_elem(&exec_scratches, &zero);
	if (!out || !state_lives(state)) {
		state_clear(state, STATE_PENDING);
		return 0; /* nothing is recorded yet */
	}
	r = &out->r;
	__builtin_memset(r, 0, 64);
	r->head.kind = RECORD_exec;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->old_tid = old_pid;
	r->flags = begins;
	r->start_ns = task->group_leader->start_time;
	at = exec_read_command(r->command, task, bprm);
	r->command_len = at;
	rare_emit(&r->head, __builtin_offsetof(struct record_exec, command) + at);
	state_clear(state, STATE_PENDING); /* a cut may interrupt this program: running_tell() */
	ring_wake_for_news();
	if (assumed && spans_only)
		follow_record(task);
	if (begins)
		exec_cgroup();
	exec_path((u64)BPF_CORE_READ(bprm, filename), exec_is_from_fd(bprm));
	return 0;
}

static __always_inline void name_record(struct task_struct *task, const struct thread_state *state,
					const char *comm)
{
	struct {
		struct record_name r;
		u8 rest[128 - sizeof(struct record_name)];
	} out = {};
	long n;

	out.r.head.kind = RECORD_name;
	out.r.head.tid = tid_of(task, state);
	out.r.head.pid = task->tgid;
	n = bpf_probe_read_kernel_str(out.r.comm, sizeof(out.r.comm), comm);
	out.r.comm_len = n > 0 ? n - 1 : 0;
	rare_emit(&out.r.head, sizeof(out.r));
}

/*
 * Whether another thread may take over the number of this one by an exec, which ends the leader of
 * a process alone, or finds it ended.
 */
static __always_inline bool exit_leaves_number(struct task_struct *task)
{
	return task->pid == task->tgid && BPF_CORE_READ(task, signal, live.counter) > 0 &&
	       !(BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct thread_state *state = state_of(task);
	struct {
		struct record_exit r;
		u8 rest[128 - sizeof(struct record_exit)];
	} out = {};

	if (state) /* another thread will get its stack, and it makes no more calls */
		state->regs = 0;
	descendant_ends(state);
	/* the begin of an exec may not be seen */
	if ((!*(volatile u32 *)&calls_on || calls_raise()) && exit_leaves_number(task))
		numbers_swap = 1;
	if (!state_lives(state))
		return 0;
	if (state->fault_begin_ns)
		fault_soft_end();
	if (!call_is_under_way(state) && !state->exit_ns)
		state->exit_ns = bpf_ktime_get_ns();
	if (!(state->flags & STATE_SEEN)) /* it ends before the snapshot came to it */
		name_record(task, state, task->comm);
	out.r.head.kind = RECORD_exit;
	out.r.head.tid = tid_of(task, state);
	out.r.head.pid = task->tgid;
	out.r.code = task->exit_code;
	out.r.flags = BPF_CORE_READ(task, signal, live.counter) == 0;
	if (out.r.flags)
		location_drop(task);
	rare_emit(&out.r.head, sizeof(out.r));
	if (!state->held_tid)
		state->held_tid = task->pid;
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *comm)
{
	struct thread_state *state = state_of(task);
	u32 tid = task->pid;

	/* out of scope only the name of a thread that was told already matters */
	if (!state_lives(state) && !bpf_map_lookup_elem(&told_outsiders, &tid))
		return 0;
	if (state_lives(state))
		detail_match_name(state, comm);
	/* if the snapshot has not told of the thread yet, its records so far need the old name */
	if (state_lives(state) && !(state->flags & STATE_SEEN))
		name_record(task, state, task->comm);
	name_record(task, state, comm);
	return 0;
}
