/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Stacks of waits that are longer than stack_min_ns: the kernel's when the
 * thread gets a CPU again, the user's when it next returns to user mode, since
 * it cannot be read before. A thread that left its CPU in user mode is in the
 * middle of some function: of its user stack only the instruction is told.
 */
#ifndef BPF_STACK_H
#define BPF_STACK_H

#include "bpf/ring.h"
#include "bpf/state.h"

/* Set by capture before the programs are loaded; 0: no stacks, and their programs are not. */
const volatile u64 stack_min_ns __weak = 0;

#define USER_CS_32 0x23
#define STACK_KERNEL_FRAMES 127
#define STACK_FRAMES 62 /* of a user stack, by frame pointers, beside the innermost */
#define STACK_WORDS 64	/* of its top */

#define STACK_BYTES 1152

/* The record, and how far a walk is: what loops change lies here, lest the verifier count it. */
struct stack_scratch {
	union {
		struct record_stack r;
		u8 bytes[STACK_BYTES];
	};
	u64 fp, sp;
	u32 count;    /* u64 in frames */
	u32 words_at; /* where the words begin */
	u32 last;     /* behind the last that lies in code */
	u32 lost;     /* something of it could not be read */
};

/* One for each program that calls: a program does not nest on a CPU. */
enum stack_at { STACK_AT_SWITCH, STACK_AT_EXIT, STACK_AT_FAULT, STACK_AT_ITERATOR };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* set by capture */
	__type(key, u32);
	__type(value, struct stack_scratch);
} stack_scratches SEC(".maps") __weak;

/* stack.bpf.c: the running thread's user stack, the same since `since_ns`. */
int stack_of_current(u32 at, u64 since_ns);

static __always_inline void stack_head(struct record_stack *r, struct task_struct *task, u32 flags,
				       u64 since_ns)
{
	/* of one that is in the middle of an exec or ends: as its other records say */
	struct thread_state *state = state_known(task);

	__builtin_memset(r, 0, __builtin_offsetof(struct record_stack, frames));
	r->head.kind = RECORD_stack;
	r->head.tid = tid_of(task, state);
	r->head.pid = task->tgid;
	r->flags = flags;
	r->since_ns = since_ns;
}

/* Bytes of the record, 0 if there is no such stack. */
static __always_inline u32 stack_kernel_fill(struct record_stack *r, struct task_struct *task,
					     u64 since_ns)
{
	long bytes;

	stack_head(r, task, STACK_KERNEL, since_ns);
	bytes = bpf_get_task_stack(task, r->frames, STACK_KERNEL_FRAMES * 8, 0);
	if (bytes <= 0)
		return 0;
	r->frames_len = bytes;
	return __builtin_offsetof(struct record_stack, frames) + bytes;
}

static __always_inline bool stack_has_user(struct task_struct *task)
{
	return !task_is_kernels(task) && task->mm;
}

/* 32-bit code, whose frames are others. */
static __always_inline bool stack_is_compat(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return task->thread_info.status & TS_COMPAT || BPF_CORE_READ(regs, cs) == USER_CS_32;
}

/* Begin of the stay in the kernel that the thread is in; `off_ns` if it is not known. */
static __always_inline u64 stack_visit(const struct thread_state *state, u64 off_ns)
{
	u64 since = state->in_syscall ? state_call_ns(state) : state->fault_begin_ns;

	return since ? since : off_ns;
}

#endif
