// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * New mappings of files, where no program sees the calls that make them (--detail waits): the ring
 * of libfathom, the context of a process, and libraries. They have the notices of bpf/notice.h. The
 * kernel asks for the place of a mapping before it makes it, so capture may look a little too
 * early, and looks again.
 */
#include "bpf/call.h"
#include "bpf/file.h"
#include "bpf/notice_emit.h"
#include "bpf/ring.h"
#include "bpf/state.h"

char LICENSE[] SEC("license") = "GPL";

#define MAPPED_DENYWRITE 0x800 /* of a loader, whose first mapping of a library is no code */

#define NAME_BYTES 24

/* Whether the name is `known`, which has so many bytes with its NUL. */
static __always_inline bool name_is(const char *name, const char *known, u32 bytes)
{
#pragma unroll
	for (u32 i = 0; i < NAME_BYTES; i++) {
		if (i < bytes && name[i] != known[i])
			return false;
	}
	return true;
}

/* Whether no process has mapped the file yet. One that has not made a ring may map it later. */
static __always_inline bool mapped_first(struct file *file)
{
	return !BPF_CORE_READ(file, f_inode, i_mapping, i_mmap.rb_root.rb_node);
}

static __always_inline void mapped_tell(struct task_struct *task, struct file *file,
					const struct pt_regs *regs)
{
	char name[NAME_BYTES] = {};

	bpf_probe_read_kernel_str(name, sizeof(name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	if (name_is(name, "memfd:fathom_ring", 18)) {
		if (mapped_first(file))
			notice_emit(task, NOTICE_RING, 0);
	} else if (name_is(name, "memfd:OTEL_CTX", 15)) {
		notice_emit(task, NOTICE_NAMED, 0);
	} else if ((regs->dx & NOTICE_PROT_EXEC) || (regs->r10 & MAPPED_DENYWRITE)) {
		notice_emit(task, NOTICE_MAPPED, 0);
	}
}

SEC("tp_btf/vm_unmapped_area")
int BPF_PROG(vm_unmapped_area)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct file *file;

	if (regs->orig_ax != SYSCALL_NR_mmap || (regs->r10 & NOTICE_MAP_ANONYMOUS) ||
	    task->thread_info.status & TS_COMPAT || !state_lives(state_of(task)))
		return 0;
	file = file_of_fd(task, regs->r8);
	if (file)
		mapped_tell(task, file, regs);
	return 0;
}
