// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Samples: what a CPU runs, every sample_period_ns of its clock, with the stacks of the kernel and
 * of the program and the active span. A software event of the kernel, which needs no counter of the
 * hardware, runs this in the interrupt of a timer.
 *
 * So this interrupts other programs of this CPU. It changes nothing that they use.
 */
#include "bpf/context.h"
#include "bpf/stack.h"
#include "bpf/stack_walk.h"

char LICENSE[] SEC("license") = "GPL";

struct bpf_perf_event_data;

/* Whether samples of the thread are wanted. `state` can be NULL. */
static __always_inline bool sample_wanted(struct task_struct *task, struct thread_state *state)
{
	if (state)
		return state_in(state);
	return scope_host && stateless_in(task->tgid);
}

/* The span that the thread has now. Its state is left alone, and holds if memory is not there. */
static __always_inline void sample_context(struct context *ctx, struct thread_state *state,
					   struct task_struct *task)
{
	struct otel_record record __attribute__((aligned(8)));
	struct context_location *at = &state->location;
	u64 variable, place = 0, missing = 0;
	u32 tgid = task->tgid;

	*ctx = state->ctx;
	if (task_is_kernels(task) || state->in_syscall == IN_SYSCALL_SEEN ||
	    (state->creator_tp && state->creator_tp == task->thread.fsbase))
		return;
	if (state->location_generation != context_generation)
		at = bpf_map_lookup_elem(&locations, &tgid);
	if (!at || !at->known)
		return;
	variable = context_variable(at, task->thread.fsbase, &missing);
	if (missing || (variable && bpf_probe_read_user(&place, 8, (void *)variable)))
		return;
	if (place && bpf_probe_read_user(&record, sizeof(record), (void *)place))
		return;
	__builtin_memset(ctx, 0, sizeof(*ctx));
	if (place && record.valid == 1 && context_is_whole(&record) &&
	    (!at->flags || context_is_allowed(&record, place, at->flags)))
		__builtin_memcpy(ctx, &record, sizeof(*ctx));
}

static __always_inline void sample_head(struct record_sample *r, struct task_struct *task,
					struct thread_state *state)
{
	__builtin_memset(r, 0, __builtin_offsetof(struct record_sample, frames));
	r->head.kind = RECORD_sample;
	r->head.tid = tid_of(task, state);
	r->head.pid = task->tgid;
	r->period_ns = sample_period_ns;
	if (state)
		sample_context(&r->ctx, state, task);
}

/* Adds the stack of the program behind `kernel` frames of the kernel. How many words it has. */
static __always_inline u32 sample_user(struct stack_scratch *s, struct task_struct *task,
				       u32 kernel)
{
	struct stack_walk w = {.s = s, .task = task, .at = STACK_AT_SAMPLE};

	walk_begin(s, task, kernel, sizeof(s->sample.frames) / 8);
	s->bitmap_at = s->count;
	if (stack_is_compat(task))
		return 0;
	w.layout = layout_of(task);
	return w.layout ? current_walk(&w, SAMPLE_FRAMES) : 0;
}

SEC("perf_event")
int sample_take(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = task->pid ? state_known(task) : NULL;
	u32 at = STACK_AT_SAMPLE, kernel = 0, words = 0, bytes;
	struct stack_scratch *s;
	long got;

	if (!task->pid || !sample_wanted(task, state))
		return 0;
	s = bpf_map_lookup_elem(&stack_scratches, &at);
	if (!s)
		return 0;
	sample_head(&s->sample, task, state);
	if (spans_only && !context_is_set(&s->sample.ctx))
		return 0;
	got = bpf_get_stack(ctx, s->frames, SAMPLE_KERNEL_FRAMES * 8, 0);
	if (got > 0)
		kernel = (u32)got / 8;
	if (kernel > SAMPLE_KERNEL_FRAMES)
		kernel = SAMPLE_KERNEL_FRAMES;
	s->count = kernel;
	s->bitmap_at = kernel;
	s->cut = 0;
	s->unknown = 0;
	if (stack_has_user(task))
		words = sample_user(s, task, kernel);
	s->sample.flags = STACK_PACKED | (kernel ? STACK_KERNEL : 0) |
			  (s->bitmap_at > kernel ? STACK_USER : 0) | (s->cut ? STACK_CUT : 0) |
			  (s->unknown ? STACK_UNSURE : 0);
	s->sample.kernel = kernel;
	s->sample.user = s->bitmap_at - kernel;
	s->sample.words = words;
	bytes = s->count * 8;
	BOUND(bytes, 4095);
	if (bytes > sizeof(s->sample.frames))
		return 0;
	bpf_probe_read_kernel(s->sample.frames, bytes, s->frames);
	s->sample.frames_len = bytes;
	rare_emit(&s->sample.head, __builtin_offsetof(struct record_sample, frames) + bytes);
	return 0;
}
