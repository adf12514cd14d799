/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Fills the record of a switch with what the thread was doing that leaves the CPU. */
#ifndef BPF_SWITCH_H
#define BPF_SWITCH_H

#include "bpf/call.h"
#include "bpf/call_now.h"
#include "bpf/context.h"
#include "bpf/leave.h"

/* The record, in whole slots. */
struct switch_slots {
	struct record_switch r;
	u64 rest[5];
};

/* How many slots are published: the first ends with arg0, the second has the context. */
static __always_inline u32 switch_slots_of(const struct record_switch *r)
{
	return context_is_set(&r->ctx) ? 2 : 1;
}

/* Fills in the span of the running thread, and finds its call if that was not seen to begin. */
static __always_inline void switch_fill_context(struct record_switch *r, struct thread_state *state,
						struct task_struct *task)
{
	if (call_is_under_way(state) && !calls_recorded && state->file.kind)
		call_now_name(state->call_fd);
	if (calls_recorded && !state->in_syscall && state->called != CALLED_SEEN)
		call_find();
	state_take_call(state);
	context_now(state, task);
	r->ctx = state->ctx;
	if (state->called == CALLED_FORGOTTEN && state->in_syscall == IN_SYSCALL_SOFT) {
		/* the time before is not known: the call counts from its first record on */
		bool told = context_is_set(&state->ctx);

		state->in_syscall = told ? IN_SYSCALL_SOFT : 0;
		state->begin_ns = told ? bpf_ktime_get_ns() : 0;
		state->called = told ? CALLED_SEEN : CALLED_FORGOTTEN;
	}
}

/* Fills in where the thread was: in a fault, in a call, in user mode, or exiting. */
static __always_inline void switch_fill_mode(struct record_switch *r, struct thread_state *state,
					     struct task_struct *task, u64 now)
{
	if (state->in_syscall) {
		r->mode = MODE_syscall | (state->compat ? MODE_COMPAT : 0);
		r->nr = state->nr;
		r->arg0 = state->args[0];
		r->file = state->file;
		if (!r->arg0 &&
		    call_waits_endless(state->row, (void *)bpf_task_pt_regs(task), state->compat))
			r->file.flags = FILE_NONE_ENDLESS;
		if (state->begin_ns && now > state->begin_ns)
			r->since_ns = now - state->begin_ns;
		if (state->fault_begin_ns)
			r->mode += MODE_fault - MODE_syscall + MODE_IN_SYSCALL;
	} else if (state->exit_ns) {
		r->mode = MODE_exit;
		if (now > state->exit_ns)
			r->since_ns = now - state->exit_ns;
	} else if (state->fault_begin_ns) {
		r->mode = MODE_fault;
		r->arg0 = state->fault_address;
		if (now > state->fault_begin_ns)
			r->since_ns = now - state->fault_begin_ns;
	} else if (!calls_recorded && r->state == LEAVE_disk_sleep &&
		   !call_came_by_one((void *)bpf_task_pt_regs(task))) {
		r->mode = MODE_fault; /* an exception, which does nothing else that sleeps so */
	} else if (r->state == LEAVE_sleep && task_frozen(task)) {
		r->state = LEAVE_frozen;
	}
}

#endif
