// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * A thread that stays on its CPU writes no record. At a cut, capture runs this program on each CPU.
 * It interrupts the thread there and records where it is.
 */
#include "bpf/calls_leave.h"
#include "bpf/fault.h"
#include "bpf/license.h"
#include "bpf/ring.h"
#include "bpf/switch.h"

/* Fills in that a thread has its CPU. Its slots are reserved: the clock is read behind that. */
static __always_inline void running_fill(struct record_switch *r, struct task_struct *task,
					 const struct thread_state *state, u8 why)
{
	r->head.kind = RECORD_switch;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = r->next_tid = tid_of(task, state);
	r->head.pid = task->tgid;
	r->state = LEAVE_running | why;
}

SEC("raw_tp")
int running_tell(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = task->pid ? state_of(task) : NULL;
	struct switch_slots out = {};
	struct record_switch *r = &out.r;
	struct ring_place place;
	bool followed = true;
	u32 n;

	/* a thread whose begin is just being recorded has no record before it */
	if (!state_in(state) || state->flags & STATE_PENDING)
		return 0;
	if (calls_are_followed(state) && state->fault_begin_ns && fault_is_unsure(state))
		return 0;
	if (!task_is_kernels(task)) {
		followed = switch_fill_context(r, state, task);
		/* the thread is just entering or leaving a call: skip it */
		if (!state->exit_ns &&
		    !!state->in_syscall != call_is_open((void *)bpf_task_pt_regs(task)))
			return 0;
	}
	if (spans_only && !context_is_set(&r->ctx))
		return 0;
	n = switch_slots_of(r);
	if (ring_reserve(&place, n, RECORD_switch))
		return 0;
	running_fill(r, task, state, 0);
	if (task_is_kernels(task))
		r->mode = MODE_kernel_thread;
	else
		switch_fill_mode(r, state, task, followed);
	ring_publish(&place, r, n);
	return 0;
}

__noinline int calls_leave(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);
	struct switch_slots out = {};
	struct record_switch *r = &out.r;
	struct ring_place place;
	u32 n;

	if (!state)
		return 0;
	state->calls_since = 0;
	if (!state_in(state) || (spans_only && !context_is_set(&state->ctx)))
		return 0;
	r->ctx = state->ctx;
	n = switch_slots_of(r);
	if (ring_reserve(&place, n, RECORD_switch))
		return 0;
	running_fill(r, task, state, LEAVE_BEFORE_UNKNOWN);
	ring_publish(&place, r, n);
	return 0;
}

/* Does nothing: its run time is what the kernel's account of a run takes by itself. */
SEC("raw_tp")
int nothing(void *ctx)
{
	return 0;
}
