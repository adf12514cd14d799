/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Mappings of code, which are recorded when a stack first leads into them: the process may be gone
 * when the stack is shown. Code without a file, as a compiler in the program makes it, is told to
 * capture alone, which looks for its names (src/capture/stack/jit_names.h).
 */
#ifndef BPF_MAPPING_H
#define BPF_MAPPING_H

#include "bpf/iterator.h"
#include "bpf/path.h"
#include "bpf/stack.h"

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
} stack_ranges SEC(".maps") __weak;

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
} mapping_scratches SEC(".maps") __weak;

struct vma_seen {
	u64 begin, end, offset;
	struct file *file;
	bool code;
	bool vdso;	/* code of the kernel that programs call */
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
	seen->vdso = !vma->vm_file && seen->code &&
		     (u64)BPF_CORE_READ(task, mm, context.vdso) == seen->begin;
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
	if (mapped)
		path_write(&s->path, task, BPF_CORE_READ(mapped, f_path.dentry),
			   BPF_CORE_READ(mapped, f_path.mnt));
	n = mapped ? s->path.r.path_len : 0;
	if (seen->vdso) {
		__builtin_memcpy(s->path.r.path, "[vdso]", 6);
		n = 6;
	}
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

	if (mapped) {
		file.key = BPF_CORE_READ(mapped, f_inode, i_ino);
		file.dev = BPF_CORE_READ(mapped, f_inode, i_sb, s_dev);
		file.kind = FILE_KIND_regular;
	}
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

/* ---- mappings that are known of a process, for samples ---- */

/*
 * A sample is taken in an interrupt. There the kernel allows to look up one mapping. So the
 * programs remember, for each process, which mappings were looked up, of code and of data.
 */
#define LAYOUT_RANGES 32 /* of code, and of data, of which a program can have any number */

struct stack_layout_range {
	u64 begin, end; /* end 0: unused, or being changed */
};

struct stack_layout {
	u64 start_ns; /* of the process */
	u32 exec_id;
	u32 pad;
	u64 code_next, data_next; /* how many were ever added */
	struct stack_layout_range code[LAYOUT_RANGES], data[LAYOUT_RANGES];
};

/* By process. Capture sets max_entries. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, struct stack_layout);
} stack_layouts SEC(".maps") __weak;

u64 stack_layout_none[sizeof(struct stack_layout) / 8] __weak = {};

/* The layout of the thread's process, made if there was none; NULL without samples. */
static __always_inline struct stack_layout *layout_of(struct task_struct *task)
{
	u64 start_ns = BPF_CORE_READ(task, group_leader, start_time);
	u32 exec_id = BPF_CORE_READ(task, self_exec_id), tgid = task->tgid;
	struct stack_layout *layout;

	if (!sample_period_ns)
		return NULL;
	layout = bpf_map_lookup_elem(&stack_layouts, &tgid);
	if (!layout) {
		bpf_map_update_elem(&stack_layouts, &tgid, &stack_layout_none, BPF_ANY);
		layout = bpf_map_lookup_elem(&stack_layouts, &tgid);
	}
	if (layout && (layout->start_ns != start_ns || layout->exec_id != exec_id)) {
		bpf_probe_read_kernel(layout, sizeof(*layout), stack_layout_none);
		layout->start_ns = start_ns;
		layout->exec_id = exec_id;
	}
	return layout;
}

enum layout_found { LAYOUT_DATA, LAYOUT_CODE, LAYOUT_UNKNOWN };

/* What is known of an address. */
static __always_inline enum layout_found layout_find(struct stack_layout *layout, u64 address)
{
	for (int i = 0; i < LAYOUT_RANGES; i++) {
		struct stack_layout_range *code = &layout->code[i];
		struct stack_layout_range *data = &layout->data[i];

		if (address < code->end && address >= code->begin)
			return LAYOUT_CODE;
		if (address < data->end && address >= data->begin)
			return LAYOUT_DATA;
	}
	return LAYOUT_UNKNOWN;
}

/* Adds a mapping, in place of the oldest one of its kind. */
static __always_inline void layout_put(struct stack_layout *layout, const struct vma_seen *seen)
{
	struct stack_layout_range *range;
	u64 at;

	if (seen->code) {
		at = __sync_fetch_and_add(&layout->code_next, 1);
		BOUND(at, 31);
		range = &layout->code[at];
	} else {
		at = __sync_fetch_and_add(&layout->data_next, 1);
		BOUND(at, 31);
		range = &layout->data[at];
	}

	range->end = 0;
	barrier();
	range->begin = seen->begin;
	barrier();
	range->end = seen->end;
}

#endif
