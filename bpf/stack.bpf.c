// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Stacks of long waits (bpf/stack.h). */
#include "bpf/stack.h"
#include "bpf/context.h"
#include "bpf/iterator.h"
#include "bpf/resident.h"
#include "bpf/stack_walk.h"

char LICENSE[] SEC("license") = "GPL";

/* The record's size in bytes. */
static __always_inline u32 stack_close(struct stack_scratch *s, u32 words)
{
	u32 frames = s->bitmap_at, bytes = s->count * 8;

	s->r.flags |= STACK_PACKED | (s->cut ? STACK_CUT : 0);
	s->r.words = words | frames << 16;
	BOUND(bytes, 2047);
	if (bytes > sizeof(s->r.frames))
		bytes = 0;
	bpf_probe_read_kernel(s->r.frames, bytes, s->frames);
	s->r.frames_len = bytes;
	return __builtin_offsetof(struct record_stack, frames) + bytes;
}

/* ---- when a thread gets a CPU ---- */

static __always_inline void stack_instruction(struct record_stack *r, struct task_struct *task,
					      u64 since_ns)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 ip = BPF_CORE_READ(regs, ip);

	stack_head(r, task, STACK_USER, since_ns);
	__builtin_memcpy(r->frames, &ip, sizeof(ip));
	r->frames_len = sizeof(ip);
	rare_emit(&r->head, __builtin_offsetof(struct record_stack, frames) + sizeof(ip));
}

/* A thread gets the CPU at `now`. */
static __always_inline void stack_enters(struct task_struct *next, struct thread_state *state,
					 u64 now)
{
	u64 off_ns = state->off_ns;
	struct stack_scratch *s;
	struct record_stack *r;
	u32 at = STACK_AT_SWITCH, bytes;

	state->off_ns = 0;
	if (!off_ns || now < off_ns || now - off_ns <= stack_min_ns)
		return;
	s = bpf_map_lookup_elem(&stack_scratches, &at);
	if (!s)
		return;
	r = &s->r;
	if (state->stack_told_ns != off_ns) {
		bytes = stack_kernel_fill(r, next, off_ns);
		if (bytes)
			rare_emit(&r->head, bytes);
	}
	if (!stack_has_user(next))
		return;
	if (!state->in_syscall && !state->fault_begin_ns)
		stack_instruction(r, next, off_ns);
	else if (!state->stack_since_ns)
		state->stack_since_ns = stack_visit(state, off_ns);
}

/* ---- of the running thread ---- */

int stack_of_current(u32 at, u64 since_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_walk w = {.at = at, .task = task};
	struct stack_scratch *s = bpf_map_lookup_elem(&stack_scratches, &at);
	u32 words;

	if (!s || stack_is_compat(task))
		return 0;
	w.s = s;
	stack_head(&s->r, task, STACK_USER, since_ns);
	walk_begin(s, task, 0, sizeof(s->r.frames) / 8);
	words = current_walk(&w, STACK_FRAMES);
	rare_emit(&s->r.head, stack_close(s, words));
	if (s->lost)
		ring_count_incomplete();
	return 0;
}

int stack_learn(u32 at, u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_walk w = {.at = at, .task = task};

	w.s = bpf_map_lookup_elem(&stack_scratches, &at);
	if (!w.s || !stack_has_user(task))
		return 0;
	w.s->code_bytes = 0;
	w.s->data_bytes = 0;
	stack_is_code(&w, address);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(stack_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread_state *state = prev->pid ? state_of(prev) : NULL;
	struct thread_state *next_state = next->pid ? state_of(next) : NULL;
	u64 now = bpf_ktime_get_ns();

	if (state_in(state) && (!spans_only || context_is_set(&state->ctx)))
		state->off_ns = now;
	if (state_in(next_state))
		stack_enters(next, next_state, now);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(stack_exit)
{
	struct thread_state *state = state_of(bpf_get_current_task_btf());

	if (!state_in(state) || !state->stack_since_ns)
		return 0;
	stack_of_current(STACK_AT_EXIT, state->stack_since_ns);
	state->stack_since_ns = 0;
	return 0;
}

/* ---- of threads that are still asleep, for an iterator ---- */

/* The words at the top of its stack, before they are checked: that takes other space of ours. */
struct stack_raw {
	u64 words[STACK_WORDS_MAX];
};

/* One is enough: an iterator does not nest. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_raw);
} stack_raws SEC(".maps");

/* The memory of a thread that is asleep, and what its stack pointer leads to. */
struct open_walk {
	struct stack_walk walk;
	struct resident resident;
	struct vma_seen stack;
	struct stack_raw *raw;
};

/* Reads a word of its memory; 0: there is none. Only a missing word of the stack counts as a loss.
 */
static __always_inline u64 open_word(struct open_walk *w, u64 address)
{
	u64 word = 0;
	long found;

	if (address >= USER_END)
		return 0;
	found = resident_read(&w->resident, address, &word);
	if (found == RESIDENT_HERE)
		return word;
	if ((found == RESIDENT_ELSEWHERE || w->stack.elsewhere) && address >= w->stack.begin &&
	    address < w->stack.end)
		w->walk.s->lost = 1;
	return 0;
}

static long open_step(u32 index, void *arg)
{
	struct open_walk *w = arg;
	struct stack_scratch *s = w->walk.s;
	u64 frame[2];

	if (!walk_goes_on(s))
		return 1;
	frame[0] = open_word(w, s->fp);
	frame[1] = open_word(w, s->fp + 8);
	return frame_step(s, frame);
}

static long open_top(u32 index, void *arg)
{
	struct open_walk *w = arg;

	if (index >= STACK_WORDS_MAX)
		return 1;
	w->raw->words[index] = open_word(w, w->walk.s->sp + 8 * (u64)index);
	return 0;
}

static long open_check(u32 index, void *arg)
{
	struct open_walk *w = arg;

	if (index >= STACK_WORDS_MAX)
		return 1;
	return word_put(&w->walk, index, w->raw->words[index]);
}

/* 0, or -1: no room. */
static __always_inline long open_user(struct seq_file *seq, struct task_struct *task,
				      struct stack_scratch *s, u64 since_ns)
{
	unsigned long switches = task->nvcsw + task->nivcsw;
	struct open_walk w = {.walk = {.s = s, .at = STACK_AT_ITERATOR, .task = task}};
	u32 words, zero = 0;

	w.raw = bpf_map_lookup_elem(&stack_raws, &zero);
	if (!w.raw)
		return 0;
	stack_head(&s->r, task, STACK_USER, since_ns);
	walk_begin(s, task, 0, sizeof(s->r.frames) / 8);
	stack_look(&w.walk, s->sp, &w.stack);
	if (resident_begin(&w.resident, task)) {
		bpf_loop(STACK_FRAMES, open_step, &w, 0);
		walk_note(s, STACK_FRAMES);
		bpf_loop(STACK_FRAMES + 1, place_check, &w.walk, 0);
		words = words_begin(s);
		bpf_loop(words, open_top, &w, 0);
		bpf_loop(words, open_check, &w, 0);
	} else {
		bpf_loop(STACK_FRAMES + 1, place_check, &w.walk, 0);
		words = words_begin(s);
		s->lost = 1;
	}
	if (task->on_cpu || task->nvcsw + task->nivcsw != switches)
		return 0; /* the thread ran meanwhile */
	if (iterator_write(seq, &s->r.head, stack_close(s, words), STACK_BYTES))
		return -1;
	if (s->lost)
		ring_count_incomplete();
	return 0;
}

SEC("iter/task")
int stacks_open(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *state;
	struct stack_scratch *s;
	u32 at = STACK_AT_ITERATOR, bytes;
	u64 off_ns;

	if (!task || task->on_cpu)
		return 0;
	state = state_known(task);
	s = bpf_map_lookup_elem(&stack_scratches, &at);
	if (!state_in(state) || !s)
		return 0;
	off_ns = state->off_ns;
	if (!off_ns || state->stack_told_ns == off_ns ||
	    bpf_ktime_get_ns() - off_ns <= stack_min_ns)
		return 0;
	bytes = stack_kernel_fill(&s->r, task, off_ns);
	if (!bytes || iterator_write(ctx->meta->seq, &s->r.head, bytes, STACK_BYTES))
		return 0;
	if (stack_has_user(task) && !stack_is_compat(task) &&
	    open_user(ctx->meta->seq, task, s, stack_visit(state, off_ns)))
		return 0;
	state->stack_told_ns = off_ns;
	return 0;
}
