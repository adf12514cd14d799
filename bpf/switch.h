/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Fills the record of a switch with what the thread was doing that leaves the CPU. */
#ifndef BPF_SWITCH_H
#define BPF_SWITCH_H

#include "bpf/call.h"
#include "bpf/call_now.h"
#include "bpf/context.h"
#include "bpf/in_request.h"
#include "bpf/leave.h"
#include "bpf/seccomp.h"

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

/*
 * Fills in the span of the running thread, and finds its call, where calls are not followed. With
 * spans_only nothing is recorded of a thread without a span.
 */
static __always_inline void switch_fill_now(struct record_switch *r, struct thread_state *state,
					    struct task_struct *task)
{
	context_read(state, task);
	r->ctx = state->ctx;
	if (spans_only && !context_is_set(&state->ctx)) {
		state->in_syscall = 0;
		state->called = 0;
		state->fault_begin_ns = 0;
		return;
	}
	call_now();
	if (state->in_syscall && state->file.kind && call_now_is_unnamed(state))
		call_now_name(state->call_fd);
}

/*
 * Fills in the span of the running thread, and finds its call if that was not seen to begin.
 * Returns whether the calls of the thread are followed.
 */
static __always_inline bool switch_fill_context(struct record_switch *r, struct thread_state *state,
						struct task_struct *task)
{
	if (!calls_are_followed(state)) {
		switch_fill_now(r, state, task);
		return false;
	}
	if (!state->in_syscall && state->called != CALLED_SEEN && !calls_raise())
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
	return true;
}

/*
 * Whether a seccomp filter holds the thread before its call, which looks as if it were in the call.
 * Where calls are followed, it has not begun.
 */
static __always_inline bool switch_is_held(const struct record_switch *r, struct task_struct *task)
{
	return task->seccomp.mode && (r->state == LEAVE_sleep || r->state == LEAVE_disk_sleep) &&
	       seccomp_holds(bpf_get_current_task());
}

/*
 * Where page faults are not recorded: whether the thread sleeps in an exception, which does little
 * else that sleeps.
 */
static __always_inline bool switch_in_fault(const struct record_switch *r, struct task_struct *task)
{
	return (r->state == LEAVE_disk_sleep || r->state == LEAVE_sleep) &&
	       !call_came_by_one((void *)bpf_task_pt_regs(task));
}

/*
 * Fills in where the thread was: in a fault, in a call, in user mode, or exiting. What its state
 * says of its call is true or, if calls are not followed, is that of switch_fill_context().
 */
static __always_inline void switch_fill_mode(struct record_switch *r, struct thread_state *state,
					     struct task_struct *task, bool followed)
{
	u64 now = r->head.time_ns;

	if (state->in_syscall && !followed && switch_is_held(r, task)) {
		state->in_syscall = 0;
		state->called = 0;
	} else if (state->in_syscall) {
		r->mode = MODE_syscall | (state->compat ? MODE_COMPAT : 0);
		r->nr = state->nr;
		r->arg0 = state->args[0];
		r->file = state->file;
		if (!r->file.kind)
			call_fill_none(&r->file, state->row, task, state->compat);
		if (r->state == LEAVE_sleep && (state->serves || state->request))
			r->file.flags |= in_request();
		if (state->begin_ns && now > state->begin_ns)
			r->since_ns = now - state->begin_ns;
		if (state->restarts == RESTARTS_OPEN && r->state == LEAVE_sleep &&
		    task_frozen(task))
			r->state = LEAVE_frozen;
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
	} else if (r->state == LEAVE_sleep && task_frozen(task)) {
		r->state = LEAVE_frozen;
	} else if (!followed && switch_in_fault(r, task)) {
		r->mode = MODE_fault;
	}
	if (!followed || calls_tell(state))
		r->state |= LEAVE_BEFORE_UNKNOWN;
}

#endif
