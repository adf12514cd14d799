// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Where calls are not recorded, no call tells the addresses of a socket on which the program never
 * sleeps. If it ends a wait in an epoll, or if bytes go through it, they are told then.
 */
#include "bpf/ended.h"
#include "bpf/license.h"
#include "bpf/ring.h"
#include "bpf/socket.h"

/* By the key of the socket. The identity has the address of its file. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TOLD_MAX);
	__type(key, u64);
	__type(value, struct told);
} told_ended SEC(".maps");

/* One buffer for each program that calls, since a program does not nest on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct socket_scratch);
} ended_places SEC(".maps"), ended_byte_places SEC(".maps");

/* Whether the record was lost. Capture is not woken, since the caller holds a lock of a task. */
static __always_inline bool ended_tell(struct socket_scratch *s, struct task_struct *task,
				       struct file *file)
{
	u64 bytes = socket_fill(s, bpf_get_current_task_btf(), file);

	if (!bytes)
		return false;
	s->r.head.tid = KERNEL_READ(task, pid);
	s->r.head.pid = KERNEL_READ(task, tgid);
	s->r.head.slots = ring_slots_of(bytes);
	return !RARE_TRY(&s->r.head, SOCKET_BYTES);
}

static __always_inline void ended_keep(u64 key, const struct file *file, u32 generation)
{
	struct ended_told *told = ended_told_at(key);

	if (told)
		*told = (struct ended_told){key, half_of_address(file), generation};
}

/* Tells a socket by its file, if this chunk has not got it yet. */
static __always_inline void ended_tell_once(struct socket_scratch *s, struct task_struct *task,
					    struct file *file)
{
	struct inode *inode = KERNEL_READ(file, f_inode);
	u64 key = KERNEL_READ(inode, i_ino);
	struct told now = told_now((u64)half_of_address(file) << 32 ^ key);
	struct told *told;

	if (ended_is_told(key, file))
		return;
	told = bpf_map_lookup_elem(&told_ended, &key);
	if (told_is_due(told, &now)) {
		now.missed = ended_tell(s, task, file);
		if (now.missed && !told_same(told, &now))
			ring_count_lost(RECORD_socket);
		bpf_map_update_elem(&told_ended, &key, &now, BPF_ANY);
	} else {
		now.missed = told ? told->missed : 0;
	}
	if (!now.missed)
		ended_keep(key, file, now.generation);
}

__noinline int ended_name(u64 task_at, u32 epoll_fd)
{
	struct task_struct *task = (struct task_struct *)task_at;
	struct epitem *item = ended_first(task, epoll_fd);
	struct file *file = item ? KERNEL_READ(item, ffd.file) : NULL;
	struct inode *inode = file ? KERNEL_READ(file, f_inode) : NULL;
	struct socket_scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&ended_places, &zero);
	if (s && inode && (KERNEL_READ(inode, i_mode) & S_IFMT) == S_IFSOCK)
		ended_tell_once(s, task, file);
	return 0;
}

__noinline int ended_name_bytes(u64 sk_at)
{
	struct sock *sk = (struct sock *)sk_at;
	struct file *file = KERNEL_READ(sk, sk_socket, file);
	struct socket_scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&ended_byte_places, &zero);
	if (s && file)
		ended_tell_once(s, bpf_get_current_task_btf(), file);
	return 0;
}
