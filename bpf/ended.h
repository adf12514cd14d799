/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The file that ends a wait for many files (epoll_wait, poll, select), and the word of a futex on
 * which a thread sleeps. A thread sleeps in epoll_wait only while the list of ready files is empty,
 * and the kernel adds a file to the list before it wakes the thread. So the first file of the list
 * has ended the wait.
 */
#ifndef BPF_ENDED_H
#define BPF_ENDED_H

#include "bpf/file.h"
#include "bpf/kernel_versions.h"
#include "bpf/state.h"
#include "bpf/told.h"
#include "record/syscalls.h"

/* What a sleeping thread waits for. */
enum ended_call {
	ENDED_OTHER,
	ENDED_EPOLL, /* the first argument is the epoll */
	ENDED_POLL,
	ENDED_FUTEX, /* the first argument is the address of the word */
};

static __always_inline enum ended_call ended_call_of(struct task_struct *task, struct pt_regs *regs)
{
	if (task_is_kernels(task) || task->thread_info.status & TS_COMPAT)
		return ENDED_OTHER;
	switch ((long)KERNEL_READ(regs, orig_ax)) {
	case SYSCALL_NR_epoll_wait:
	case SYSCALL_NR_epoll_pwait:
	case SYSCALL_NR_epoll_pwait2:
		return ENDED_EPOLL;
	case SYSCALL_NR_poll:
	case SYSCALL_NR_ppoll:
	case SYSCALL_NR_select:
	case SYSCALL_NR_pselect6:
	case SYSCALL_NR_io_uring_enter:
		return ENDED_POLL;
	case SYSCALL_NR_futex:
	case SYSCALL_NR_futex_wait:
		return ENDED_FUTEX;
	}
	return ENDED_OTHER;
}

/* What is ready first in an epoll of a task; NULL: nothing. */
static __always_inline struct epitem *ended_first(struct task_struct *task, u32 epoll_fd)
{
	struct file *file = file_of_fd(task, epoll_fd);
	struct eventpoll *epoll;
	void *first, *list;

	if (!file)
		return NULL;
	epoll = KERNEL_READ(file, private_data);
	list = (void *)epoll + bpf_core_field_offset(struct eventpoll, rdllist);
	first = KERNEL_READ(epoll, rdllist.next);
	if (!first || first == list)
		return NULL;
	return first - bpf_core_field_offset(struct epitem, rdllink);
}

/*
 * Where calls are not recorded: tells the addresses of the socket that is ready first in an epoll
 * of a task, given by its address, if this chunk has not got them yet.
 */
int ended_name(u64 task_at, u32 epoll_fd);

/* The same of a socket, given by its address, through which the running thread moved bytes. */
int ended_name_bytes(u64 sk_at);

#define ENDED_TOLD 1024 /* a power of two */

/*
 * Sockets that were told last, by the lower bits of their keys: the same is found here without a
 * look into a hash, which takes as long as a short program.
 */
struct ended_told {
	u64 key;
	u32 file; /* the lower half of its address */
	u32 generation;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENDED_TOLD);
	__type(key, u32);
	__type(value, struct ended_told);
} ended_told SEC(".maps") __weak;

static __always_inline struct ended_told *ended_told_at(u64 key)
{
	u32 at = key & (ENDED_TOLD - 1);

	return bpf_map_lookup_elem(&ended_told, &at);
}

/* Whether this chunk has the addresses of a socket for certain. */
static __always_inline bool ended_is_told(u64 key, const struct file *file)
{
	const struct ended_told *told = ended_told_at(key);

	return told && told->key == key && told->file == half_of_address(file) &&
	       told->generation == *(volatile u32 *)&told_generation;
}

/* Fills in the file that is ready in the epoll of a thread, and its descriptor; else nothing. */
static __always_inline void ended_fill(struct record_waking *r, struct task_struct *task,
				       struct pt_regs *regs)
{
	struct epitem *item = ended_first(task, KERNEL_READ(regs, di));
	struct file *file = item ? KERNEL_READ(item, ffd.file) : NULL;

	if (!file)
		return;
	__builtin_memset(&r->file, 0, sizeof(r->file));
	file_fill(&r->file, file);
	r->fd = (u32)KERNEL_READ(item, ffd.fd) + 1;
}

#endif
