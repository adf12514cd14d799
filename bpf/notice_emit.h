/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Sends the notices of notice.h. */
#ifndef BPF_NOTICE_EMIT_H
#define BPF_NOTICE_EMIT_H

#include "bpf/notice.h"
#include "bpf/ring.h"
#include "record/syscalls.h"

#define NOTICE_PROT_EXEC 4
#define NOTICE_MAP_ANONYMOUS 0x20
#define NOTICE_PR_SET_VMA 0x53564d41

static __always_inline void notice_emit(struct task_struct *task, u8 what, u32 number)
{
	struct {
		struct record_head head;
		u8 rest[40];
	} out = {};

	out.head.seq = number;
	out.head.kind = NOTICE_KIND;
	out.head.slots = what;
	out.head.tid = task->pid;
	out.head.pid = task->tgid;
	RARE_EMIT(&out, 64);
	if (what == NOTICE_RING) /* a process that ends soon takes its ring along */
		ring_wake();
	else if (what != NOTICE_THREAD)
		ring_wake_for_news();
}

/* Makes capture look at a CPU at once: until then no end of a fault is seen there. */
static __always_inline void notice_cpu(void)
{
	struct {
		struct record_head head;
		u8 rest[40];
	} out = {.head = {.kind = NOTICE_KIND, .slots = NOTICE_CPU}};

	RARE_EMIT(&out, 64);
	ring_wake();
}

/* Whether the text at an address of the process is `name`, at most 15 bytes with its NUL. */
static __always_inline bool notice_text_is(u64 at, const char *name, u32 bytes)
{
	char text[16] = {};

	if (bpf_probe_read_user_str(text, sizeof(text), (void *)at) != bytes)
		return false;
#pragma unroll
	for (u32 i = 0; i < 16; i++) {
		if (i < bytes && text[i] != name[i])
			return false;
	}
	return true;
}

static __always_inline bool notice_may_be(u32 nr)
{
	return nr == SYSCALL_NR_mmap || nr == SYSCALL_NR_prctl || nr == SYSCALL_NR_memfd_create;
}

/*
 * Sends a notice after such a call of the running thread. If the call failed, capture looks in
 * vain. Not static, so that the notice is on a stack frame of its own.
 */
__weak __noinline int notice_syscall(u32 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	if (nr == SYSCALL_NR_mmap) {
		if ((regs->dx & NOTICE_PROT_EXEC) && !(regs->r10 & NOTICE_MAP_ANONYMOUS))
			notice_emit(task, NOTICE_MAPPED, 0);
	} else if (nr == SYSCALL_NR_prctl) {
		if (regs->di == NOTICE_PR_SET_VMA && notice_text_is(regs->r8, "OTEL_CTX", 9))
			notice_emit(task, NOTICE_NAMED, 0);
	} else if (nr == SYSCALL_NR_memfd_create) {
		if (notice_text_is(regs->di, "fathom_ring", 12))
			notice_emit(task, NOTICE_RING, 0);
	}
	return 0;
}

#endif
