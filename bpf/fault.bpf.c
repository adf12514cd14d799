// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Page faults. Tracepoints open a fault at its begin. Software events of the kernel, which count a
 * fault at its end, close and record it. A fault without such an end gets a soft end: by the signal
 * that it became, by the next fault, by the begin or end of a system call, or by the end of the
 * thread. An end without a begin is counted.
 *
 * The kernel removes these events with their CPU and does not bring them back; capture makes new
 * ones. Until then a fault there also ends when its thread leaves the CPU, soft and counted.
 */
#include "bpf/fault.h"
#include "bpf/call.h"
#include "bpf/context.h"
#include "bpf/fd.h"
#include "bpf/iterator.h"
#include "bpf/notice_emit.h"
#include "bpf/path.h"
#include "bpf/ring.h"
#include "bpf/stack.h"
#include "bpf/told.h"

char LICENSE[] SEC("license") = "GPL";

#define ERROR_WRITE 2
#define ERROR_FETCH 16 /* of an instruction */
#define PAGE_BYTES 4096ull
#define VSYSCALL_PAGE 0xffffffffff600000ull

/* The context of a program for perf events; its first fields are the registers. */
struct bpf_perf_event_data;

/*
 * Whether the fault is a call of the vsyscall page. The kernel does not execute the code there, but
 * does the work itself and returns, without the end of a fault.
 */
static __always_inline bool fault_is_vsyscall(u64 address, u64 error)
{
	return (error & ERROR_FETCH) && (address & ~(PAGE_BYTES - 1)) == VSYSCALL_PAGE;
}

static __always_inline int fault_begin(u64 address, struct pt_regs *regs, u64 error, u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);

	/* what may not fault only tries, as our own reading does: nothing comes of it, and no end
	 */
	if (!state_in(state) || task->pagefault_disabled || fault_is_vsyscall(address, error) ||
	    !calls_count(state))
		return 0;
	if (flags & FAULT_USER)
		calls_follow(state);
	else if (!calls_are_followed(state))
		return 0; /* in a call that was not seen to begin */
	if (state->fault_begin_ns)
		fault_soft_end();
	if (error & ERROR_WRITE)
		flags |= FAULT_WRITE;
	state->fault_address = address;
	state->fault_ip = regs->ip;
	state->fault_flags = flags;
	state->fault_begin_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(page_fault_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return fault_begin(address, regs, error, FAULT_USER);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(page_fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return fault_begin(address, regs, error, 0);
}

/* ---- the file that a major fault read ---- */

/* A file has its name in the mount namespace of each process. */
struct told_mapping {
	u64 inode;
	u32 dev, tgid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TOLD_MAX);
	__type(key, struct told_mapping);
	__type(value, struct told);
} told_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_scratch);
} fault_paths SEC(".maps");

/* Records the name of a file that a process has mapped, without a descriptor. */
static __noinline int fault_name(struct file *file, bool counts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct path_scratch *scratch;
	u32 zero = 0;

	scratch = bpf_map_lookup_elem(&fault_paths, &zero);
	if (!scratch)
		return 0;
	fd_fill(scratch, task, file, -1, FD_open);
	if (rare_try(&scratch->r.head, fd_bytes(&scratch->r)))
		return 0;
	if (counts)
		ring_count_lost(RECORD_fd);
	return 1;
}

struct fault_seen {
	u64 address, offset;
	struct file *file;
};

/* As in the record; mapped 0: no file is mapped there. */
struct fault_file {
	u64 mapped, inode, offset;
};

/* What fault_file() found; on the stack there is no room for it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct fault_file);
} fault_files SEC(".maps");

static long fault_look(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct fault_seen *seen = arg;

	seen->file = vma->vm_file;
	seen->offset = ((u64)vma->vm_pgoff * PAGE_BYTES) + (seen->address & ~(PAGE_BYTES - 1)) -
		       vma->vm_start;
	return 0;
}

/* Finds the file that is mapped where the fault was, and tells its name. */
static __noinline int fault_file(u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fault_seen seen = {.address = address};
	struct fault_file *found;
	u32 zero = 0;
	struct told_mapping key = {.tgid = task->tgid};
	struct file_ref file = {};
	struct told now, *told;

	found = bpf_map_lookup_elem(&fault_files, &zero);
	if (!found)
		return 0;
	found->mapped = 0;
	if (bpf_find_vma(task, address, fault_look, &seen, 0) || !seen.file)
		return 0;
	file_fill_as(&file, seen.file, false);
	found->mapped = FAULT_MAPPED(file.dev, file.kind, file.flags);
	found->inode = file.key;
	found->offset = seen.offset;
	key.inode = file.key;
	key.dev = file.dev;
	now = told_now(BPF_CORE_READ(task, group_leader, start_time));
	told = bpf_map_lookup_elem(&told_mappings, &key);
	if (!told_is_due(told, &now))
		return 0;
	now.missed = fault_name(seen.file, !told_same(told, &now));
	bpf_map_update_elem(&told_mappings, &key, &now, BPF_ANY);
	return 0;
}

static __always_inline bool fault_tells_file(const struct thread_state *state)
{
	return record_files && (!spans_only || context_is_set(&state->ctx));
}

static __always_inline int fault_write(struct task_struct *task, struct thread_state *state,
				       u32 flags)
{
	struct {
		struct record_fault r;
		u64 rest[3];
	} out = {};
	struct record_fault *r = &out.r;
	struct fault_file *found = NULL;
	struct ring_place place;
	u32 n, zero = 0;

	context_now(state, task);
	r->ctx = state->ctx;
	n = context_is_set(&r->ctx) ? 2 : 1;
	if (flags & FAULT_MAJOR && fault_tells_file(state))
		found = bpf_map_lookup_elem(&fault_files, &zero);
	if (found && found->mapped) {
		r->mapped = found->mapped;
		r->inode = found->inode;
		r->offset = found->offset;
		n = 2;
	}
	if ((spans_only && n == 1) || ring_reserve(&place, n, RECORD_fault)) {
		state->fault_begin_ns = 0;
		return 0;
	}
	if ((flags & FAULT_SOFT_END) && fault_is_unsure(state))
		ring_count_incomplete();
	r->head.kind = RECORD_fault;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = tid_of(task, state);
	r->head.pid = task->tgid;
	r->flags = state->fault_flags | flags;
	if (r->flags & FAULT_USER && calls_tell(state))
		r->flags |= FAULT_BEFORE_UNKNOWN;
	r->duration_ns = r->head.time_ns - state->fault_begin_ns;
	r->address = state->fault_address;
	r->ip = state->fault_ip;
	state->fault_begin_ns = 0;
	ring_publish(&place, r, n);
	return 0;
}

/* Not inline, so that the other functions that fault_end() calls have the stack, too. */
static __noinline int fault_write_major(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);

	return state ? fault_write(task, state, FAULT_MAJOR) : 0;
}

static __always_inline int fault_end(u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);

	if (!state_in(state) || !calls_are_followed(state))
		return 0;
	if (!state->fault_begin_ns) {
		ring_count_incomplete();
		return 0;
	}
	if (stack_min_ns && state->stack_since_ns && !state->in_syscall) {
		if (!(flags & FAULT_SOFT_END)) /* otherwise that was another stack */
			stack_of_current(STACK_AT_FAULT, state->stack_since_ns);
		state->stack_since_ns = 0;
	}
	if (sample_period_ns && !(flags & FAULT_SOFT_END) &&
	    state->fault_address == state->fault_ip) /* code that runs for the first time */
		stack_learn(STACK_AT_FAULT, state->fault_ip);
	if (!(flags & FAULT_MAJOR))
		return fault_write(task, state, flags);
	context_now(state, task);
	if (fault_tells_file(state))
		fault_file(state->fault_address);
	return fault_write_major();
}

__noinline int fault_soft_end(void)
{
	return fault_end(FAULT_SOFT_END);
}

SEC("perf_event")
int fault_minor_end(struct bpf_perf_event_data *ctx)
{
	return fault_end(0);
}

SEC("perf_event")
int fault_major_end(struct bpf_perf_event_data *ctx)
{
	return fault_end(FAULT_MAJOR);
}

/* The step in which the events of a CPU are removed, or after which new ones can be made. */
SEC("tp_btf/cpuhp_exit")
int BPF_PROG(cpuhp_exit, u32 cpu, int state, int step, int result)
{
	struct ring_control *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (ring && step == bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_PERF_ONLINE)) {
		__sync_lock_test_and_set(&ring->fault_ends_ns, FAULT_ENDS_CHANGED);
		notice_cpu();
	}
	return 0;
}
