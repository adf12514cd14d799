/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Stacks of samples, of what a CPU runs every sample_period_ns (bpf/sample.bpf.c), and stacks of
 * waits that are longer than stack_min_ns. Of a wait, the kernel's stack is recorded when the
 * thread gets a CPU again. The user's stack is recorded when the thread next returns to user mode,
 * since it cannot be read before. A thread that left its CPU in user mode is in the middle of a
 * function: of its user stack only the instruction is recorded.
 */
#ifndef BPF_STACK_H
#define BPF_STACK_H

#include "bpf/ring.h"
#include "bpf/state.h"

/* Set by capture before the programs are loaded. 0: no stacks; their programs are not loaded. */
const volatile u64 stack_min_ns __weak = 0;
const volatile u64 sample_period_ns __weak = 0; /* 0: no samples */
const volatile u32 stack_words __weak = 64;	/* of the top of a user stack; a multiple of 8 */

#define USER_CS_32 0x23
#define STACK_KERNEL_FRAMES 127 /* of a wait */
#define STACK_FRAMES 62 /* likewise: of a user stack, by frame pointers, besides the innermost */
#define SAMPLE_KERNEL_FRAMES 63
#define SAMPLE_FRAMES 126
#define STACK_CHUNK 8 /* words that are read at once */

#define STACK_BYTES 1152
#define STACK_ROOM 384 /* u64 in the frames of a sample */

/*
 * The record, and the state of a walk. Values that loops change are here, so that the verifier does
 * not track them.
 */
struct stack_scratch {
	union {
		struct record_stack r;
		struct record_sample sample;
		u8 bytes[RARE_BYTES];
	};
	u64 frames[STACK_ROOM]; /* what goes into the record */
	u64 chunk[STACK_CHUNK];
	u64 fp, sp;
	u32 count;     /* in frames */
	u32 room;      /* of frames: how many fit into the record */
	u32 first;     /* the innermost frame of the program */
	u32 bitmap_at; /* where the words begin */
	u32 lost;      /* a part could not be read */
	u32 cut;       /* there was no room, or it is not known whether a frame is one of code */
	u32 looked;    /* in an interrupt: a mapping was looked up */
	u32 unknown;   /* in an interrupt: an address is in a mapping that is not known */
	u32 skip;      /* in an interrupt: so many unknown addresses are not looked up first */
	u64 code_begin,
		code_bytes; /* the mapping of code, and the other one, that were seen last */
	u64 data_begin, data_bytes;
};

/* One buffer for each program that calls, since a program does not nest on a CPU. */
enum stack_at {
	STACK_AT_SWITCH,
	STACK_AT_EXIT,
	STACK_AT_FAULT,
	STACK_AT_ITERATOR,
	STACK_AT_SAMPLE,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* set by capture */
	__type(key, u32);
	__type(value, struct stack_scratch);
} stack_scratches SEC(".maps") __weak;

/* Records the user stack of the running thread, which is unchanged since `since_ns`. */
int stack_of_current(u32 at, u64 since_ns);

/*
 * For samples: gets to know the mapping of code at an address of the running thread, which must not
 * be in an interrupt.
 */
int stack_learn(u32 at, u64 address);

static __always_inline void stack_head(struct record_stack *r, struct task_struct *task, u32 flags,
				       u64 since_ns)
{
	/* in the middle of an exec, or at its end, a thread has the number of its other records */
	struct thread_state *state = state_known(task);

	__builtin_memset(r, 0, __builtin_offsetof(struct record_stack, frames));
	r->head.kind = RECORD_stack;
	r->head.tid = tid_of(task, state);
	r->head.pid = task->tgid;
	r->flags = flags;
	r->since_ns = since_ns;
}

/* Fills the record with the kernel's stack. Returns its bytes, 0 if there is no such stack. */
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

/* Whether the thread runs 32-bit code, whose frames have another layout. */
static __always_inline bool stack_is_compat(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return task->thread_info.status & TS_COMPAT || BPF_CORE_READ(regs, cs) == USER_CS_32;
}

/* When the thread entered the kernel last; `off_ns` if it is not known. */
static __always_inline u64 stack_visit(const struct thread_state *state, u64 off_ns)
{
	u64 since = state->in_syscall ? state_call_ns(state) : state->fault_begin_ns;

	return since ? since : off_ns;
}

#endif
