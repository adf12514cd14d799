// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * User stacks, by frame pointers. Such a walk skips code without frame pointers. So the words at
 * the top of the stack that are addresses of code are recorded, too: with the unwind tables of the
 * files, which are read when the stack is shown, they give the missing frames.
 *
 * The mappings of the addresses in a stack are recorded, too, unless that was done before, since
 * the process may be gone when the stack is shown.
 */
#include "bpf/stack.h"
#include "bpf/context.h"
#include "bpf/iterator.h"
#include "bpf/path.h"
#include "bpf/resident.h"

char LICENSE[] SEC("license") = "GPL";

#define VM_EXEC 4
#define VM_UFFD_MISSING 0x200
#define EBUSY 16
#define PAGE_BITS 12
#define USER_END (1ull << 47)

struct stack_range_key {
	u32 pid, pad;
	u64 begin;
};

struct stack_range {
	u64 end, offset, inode, start_ns;
	u32 dev, exec_id;
};

/* The mappings that were told, as they were then. Capture sets max_entries. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, struct stack_range_key);
	__type(value, struct stack_range);
} stack_ranges SEC(".maps");

struct mapping_scratch {
	struct path_scratch path;
	union {
		struct record_mapping r;
		u8 bytes[1152];
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* set by capture */
	__type(key, u32);
	__type(value, struct mapping_scratch);
} mapping_scratches SEC(".maps");

struct vma_seen {
	u64 begin, end, offset;
	struct file *file;
	bool code;
	bool elsewhere; /* what is not in memory has contents that others know */
};

static long vma_look(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct vma_seen *seen = arg;

	seen->begin = vma->vm_start;
	seen->end = vma->vm_end;
	seen->offset = (u64)vma->vm_pgoff << PAGE_BITS;
	seen->file = vma->vm_file;
	seen->code = vma->vm_flags & VM_EXEC;
	seen->elsewhere = vma->vm_file || vma->vm_flags & VM_UFFD_MISSING;
	return 0;
}

static __always_inline void mapping_emit(struct task_struct *task, const struct vma_seen *seen,
					 const struct file_ref *file, u32 at)
{
	struct mapping_scratch *s = bpf_map_lookup_elem(&mapping_scratches, &at);
	struct file *mapped = seen->file;
	struct record_mapping *r;
	u64 n;

	if (!s)
		return;
	r = &s->r;
	__builtin_memset(r, 0, __builtin_offsetof(struct record_mapping, path));
	r->head.kind = RECORD_mapping;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->begin = seen->begin;
	r->end = seen->end;
	r->offset = seen->offset;
	r->since_ns = bpf_ktime_get_ns();
	r->file = *file;
	path_write(&s->path, task, BPF_CORE_READ(mapped, f_path.dentry),
		   BPF_CORE_READ(mapped, f_path.mnt));
	n = s->path.r.path_len;
	if (n > RECORD_MAPPING_PATH) {
		ring_count_incomplete();
		n = 0;
	}
	BOUND(n, 1023);
	if (n > RECORD_MAPPING_PATH)
		return;
	bpf_probe_read_kernel(r->path, n, s->path.r.path);
	r->path_len = n;
	rare_emit(&r->head, __builtin_offsetof(struct record_mapping, path) + n);
	ring_wake_for_news();
}

/* Tells a mapping, unless it was told before. */
static __always_inline void mapping_tell(struct task_struct *task, const struct vma_seen *seen,
					 u32 at)
{
	struct stack_range_key key = {.pid = task->tgid, .begin = seen->begin};
	struct stack_range *told, range = {
					  .end = seen->end,
					  .offset = seen->offset,
					  .start_ns = BPF_CORE_READ(task, group_leader, start_time),
					  .exec_id = BPF_CORE_READ(task, self_exec_id),
				  };
	struct file *mapped = seen->file;
	struct file_ref file = {};

	file.key = BPF_CORE_READ(mapped, f_inode, i_ino);
	file.dev = BPF_CORE_READ(mapped, f_inode, i_sb, s_dev);
	file.kind = FILE_KIND_regular;
	range.inode = file.key;
	range.dev = file.dev;
	told = bpf_map_lookup_elem(&stack_ranges, &key);
	if (told && told->end == range.end && told->offset == range.offset &&
	    told->inode == range.inode && told->dev == range.dev &&
	    told->start_ns == range.start_ns && told->exec_id == range.exec_id)
		return;
	mapping_emit(task, seen, &file, at);
	bpf_map_update_elem(&stack_ranges, &key, &range, BPF_ANY);
}

struct stack_walk {
	struct stack_scratch *s;
	struct task_struct *task;
	u32 at;
};

/* Finds the mapping at an address. False: there is none, or mappings are being changed. */
static __always_inline bool stack_look(struct stack_walk *w, u64 address, struct vma_seen *seen)
{
	long err = bpf_find_vma(w->task, address, vma_look, seen, 0);

	if (err == -EBUSY)
		w->s->lost = 1;
	return !err;
}

/* Whether an address is one of code. If so, tells its mapping. */
static __always_inline bool stack_is_code(struct stack_walk *w, u64 address)
{
	struct vma_seen seen = {};

	if (address < 1 << PAGE_BITS || address >= USER_END)
		return false;
	if (!stack_look(w, address, &seen) || !seen.code)
		return false;
	if (seen.file)
		mapping_tell(w->task, &seen, w->at);
	return true;
}

static __always_inline void frame_put(struct stack_scratch *s, u64 address)
{
	u64 at = (u64)s->count * 8;

	BOUND(at, 1023);
	if (at > sizeof(s->r.frames) - 8)
		return;
	__builtin_memcpy(s->r.frames + at, &address, sizeof(address));
	s->count++;
}

/* Goes to the frame of the caller. 1: there is none. */
static __always_inline long frame_step(struct stack_scratch *s, const u64 frame[2])
{
	if (frame[1] < 1 << PAGE_BITS || frame[1] >= USER_END)
		return 1;
	frame_put(s, frame[1]);
	if (frame[0] <= s->fp)
		return 1; /* stacks grow downwards */
	s->fp = frame[0];
	return 0;
}

static __always_inline void walk_begin(struct stack_scratch *s, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	s->sp = BPF_CORE_READ(regs, sp);
	s->fp = BPF_CORE_READ(regs, bp);
	s->count = 0;
	s->last = 0;
	s->lost = 0;
	frame_put(s, BPF_CORE_READ(regs, ip));
}

/* Whether a frame can follow: its pointer is aligned and above the top of the stack. */
static __always_inline bool walk_goes_on(const struct stack_scratch *s)
{
	return s->fp >= s->sp && !(s->fp & 7) && s->fp < USER_END;
}

/* The place for the words in the record; NULL if there is no room. */
static __always_inline void *words_begin(struct stack_scratch *s)
{
	u64 at = (u64)s->count * 8;

	s->words_at = s->count;
	BOUND(at, 1023);
	return at > sizeof(s->r.frames) - STACK_WORDS * 8 ? NULL : s->r.frames + at;
}

/* Replaces an address that is not in code by 0. Among frames this ends the chain. */
static long place_check(u32 index, void *arg)
{
	struct stack_walk *w = arg;
	struct stack_scratch *s = w->s;
	u64 address = 0, at = (u64)index * 8;

	BOUND(at, 1023);
	if (at > sizeof(s->r.frames) - 8 || index >= s->count)
		return 1;
	__builtin_memcpy(&address, s->r.frames + at, sizeof(address));
	if (stack_is_code(w, address))
		s->last = index + 1;
	else
		__builtin_memset(s->r.frames + at, 0, sizeof(address));
	return 0;
}

/* The record's size in bytes. */
static __always_inline u32 walk_end(struct stack_scratch *s)
{
	u32 count = s->last > s->words_at ? s->last : s->words_at, bytes = count * 8;

	s->r.words = count - s->words_at;
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

static long current_step(u32 index, void *arg)
{
	struct stack_walk *w = arg;
	u64 frame[2];

	if (!walk_goes_on(w->s) || bpf_probe_read_user(frame, sizeof(frame), (void *)w->s->fp))
		return 1;
	return frame_step(w->s, frame);
}

int stack_of_current(u32 at, u64 since_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_walk w = {.at = at, .task = task};
	struct stack_scratch *s = bpf_map_lookup_elem(&stack_scratches, &at);
	void *words;

	if (!s || stack_is_compat(task))
		return 0;
	w.s = s;
	stack_head(&s->r, task, STACK_USER, since_ns);
	walk_begin(s, task);
	bpf_loop(STACK_FRAMES, current_step, &w, 0);
	words = words_begin(s);
	if (words && bpf_probe_read_user(words, STACK_WORDS * 8, (void *)s->sp) == 0)
		s->count += STACK_WORDS;
	bpf_loop(STACK_FRAMES + STACK_WORDS + 1, place_check, &w, 0);
	rare_emit(&s->r.head, walk_end(s));
	if (s->lost)
		ring_count_incomplete();
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

/* The memory of a thread that is asleep, and what its stack pointer leads to. */
struct open_walk {
	struct stack_walk walk;
	struct resident resident;
	struct vma_seen stack;
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

	frame_put(w->walk.s, open_word(w, w->walk.s->sp + 8 * index));
	return 0;
}

/* 0, or -1: no room. */
static __always_inline long open_user(struct seq_file *seq, struct task_struct *task,
				      struct stack_scratch *s, u64 since_ns)
{
	unsigned long switches = task->nvcsw + task->nivcsw;
	struct open_walk w = {.walk = {.s = s, .at = STACK_AT_ITERATOR, .task = task}};

	stack_head(&s->r, task, STACK_USER, since_ns);
	walk_begin(s, task);
	stack_look(&w.walk, s->sp, &w.stack);
	if (resident_begin(&w.resident, task)) {
		bpf_loop(STACK_FRAMES, open_step, &w, 0);
		words_begin(s);
		bpf_loop(STACK_WORDS, open_top, &w, 0);
	} else {
		words_begin(s);
		s->lost = 1;
	}
	bpf_loop(STACK_FRAMES + STACK_WORDS + 1, place_check, &w.walk, 0);
	if (task->on_cpu || task->nvcsw + task->nivcsw != switches)
		return 0; /* the thread ran meanwhile */
	if (iterator_write(seq, &s->r.head, walk_end(s), STACK_BYTES))
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
