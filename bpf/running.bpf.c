// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * What runs on a CPU without leaving it says nothing by itself. Capture runs these programs on
 * each CPU, where they interrupt it: at a cut, to tell what it is at; and when recording has
 * begun, to know the call that it is in.
 */
#include "bpf/call.h"
#include "bpf/context.h"
#include "bpf/license.h"
#include "bpf/ring.h"

/* The call of a thread that was in it when recording began, as if it had entered it then. */
SEC("raw_tp")
int running_begins(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct thread_state *state = task->pid ? state_of(task) : NULL;

	if (!state_in(state) || task->flags & (PF_KTHREAD | PF_IO_WORKER) || state->in_syscall ||
	    state->begin_ns || state->fault_begin_ns || !call_is_open(regs))
		return 0;
	syscall_begin(state, task, regs, regs->orig_ax);
	state->held_tid = 0; /* of an exec that began before, nothing is known */
	state->begin_ns = recording_ns;
	state->in_syscall = IN_SYSCALL_SOFT;
	return 0;
}

SEC("raw_tp")
int running_tell(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = task->pid ? state_of(task) : NULL;
	struct {
		struct record_switch r;
		u64 rest[5];
	} out = {};
	struct record_switch *r = &out.r;
	struct ring_place place;
	u32 n;

	if (!state_in(state))
		return 0;
	if (!(task->flags & PF_KTHREAD)) {
		if (!state->in_syscall)
			context_read(state, task);
		r->ctx = state->ctx;
	}
	/* it is about to be seen entering it, or its begin was missed: nothing is known */
	if (!(task->flags & (PF_KTHREAD | PF_IO_WORKER)) && !state->in_syscall && !state->exit_ns &&
	    call_is_open((void *)bpf_task_pt_regs(task)))
		return 0;
	if (spans_only && !context_is_set(&r->ctx))
		return 0;
	n = switch_slots(r);
	if (ring_reserve(&place, n, RECORD_switch))
		return 0;
	r->head.kind = RECORD_switch;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = r->next_tid = tid_of(task, state);
	r->head.pid = task->tgid;
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		r->mode = MODE_kernel_thread;
	else
		switch_fill_mode(r, state, task, r->head.time_ns);
	r->state = LEAVE_running;
	ring_publish(&place, r, n);
	return 0;
}
