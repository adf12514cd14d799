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
#include "bpf/context.h"
#include "bpf/notice_emit.h"
#include "bpf/ring.h"
#include "bpf/stack.h"

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

static __always_inline int fault_end(u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);
	struct {
		struct record_fault r;
		u64 rest[6];
	} out = {};
	struct record_fault *r = &out.r;
	struct ring_place place;
	u32 n;

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
	context_now(state, task);
	r->ctx = state->ctx;
	n = context_is_set(&r->ctx) ? 2 : 1;
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
