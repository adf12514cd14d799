/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Whether a thread that goes to sleep is in the middle of a request of a client (FILE_IN_REQUEST in
 * record.h). Two things tell it:
 *
 * - The thread has received bytes on a connection that was accepted, and has not sent on one since,
 *   nor waited for clients. This is known while byte ranges are recorded.
 * - The thread is the only one of a process that has a client, and waits where no client can come:
 *   for a futex, or in another epoll than the one that told of a client last. Such a process
 *   would wait for its client if it had nothing to do.
 */
#ifndef BPF_IN_REQUEST_H
#define BPF_IN_REQUEST_H

#include "bpf/file.h"
#include "bpf/state.h"
#include "record/syscalls.h"

/* FILE_IN_REQUEST or 0, for the running thread, which goes to sleep in its call. */
int in_request(void);

/* The kernel's object of an epoll; 0: there is none. */
static __always_inline u64 epoll_of_fd(struct task_struct *task, u32 fd)
{
	struct file *file = file_of_fd(task, fd);

	return file ? (u64)KERNEL_READ(file, private_data) : 0;
}

/* Whether the thread is the only one of a process that has a client. */
static __always_inline bool serves_alone(const struct thread_state *state, struct task_struct *task)
{
	return state->serves && KERNEL_READ(task, signal, nr_threads) == 1;
}

static __always_inline bool call_is_epoll(u32 row)
{
	return row == SYSCALL_NR_epoll_wait || row == SYSCALL_NR_epoll_pwait ||
	       row == SYSCALL_NR_epoll_pwait2;
}

/* Whether the thread waits in an epoll through which no client comes. */
static __always_inline bool epoll_is_other(const struct thread_state *state,
					   struct task_struct *task, u64 arg0)
{
	return state->client_epoll && serves_alone(state, task) &&
	       epoll_of_fd(task, arg0) != state->client_epoll;
}

/* FILE_IN_REQUEST or 0, for a thread that sleeps in this call. */
static __always_inline u16 in_request_flag(const struct thread_state *state,
					   struct task_struct *task, u32 row, u64 arg0)
{
	if (row == SYSCALL_NR_futex)
		return state->request || serves_alone(state, task) ? FILE_IN_REQUEST : 0;
	return call_is_epoll(row) && epoll_is_other(state, task, arg0) ? FILE_IN_REQUEST : 0;
}

/* The epoll that a socket is in, if that waits for it first; 0: none does. */
static __always_inline u64 socket_epoll(struct sock *sk, struct file *file)
{
	struct socket_wq *queue = KERNEL_READ(sk, sk_wq);
	struct list_head *first = KERNEL_READ(queue, wait.head.next);
	struct eppoll_entry *entry;
	struct epitem *item;

	entry = (void *)first - bpf_core_field_offset(struct eppoll_entry, wait.entry);
	item = first ? KERNEL_READ(entry, base) : NULL;
	return item && KERNEL_READ(item, ffd.file) == file ? (u64)KERNEL_READ(item, ep) : 0;
}

/*
 * Bytes were received on a connection, given by the address of its socket, of a process of which no
 * client has ended a sleep yet: notes the epoll that the connection is in.
 */
int in_request_find(u64 sk_at);

/* Bytes went through a socket of the running thread: a request came, or an answer goes. */
static __always_inline void in_request_bytes(struct thread_state *state,
					     const struct file_ref *file, struct sock *sk,
					     u8 direction)
{
	u64 address = 0; /* as a number, for the verifier */

	if (!(file->flags & FILE_ACCEPTED))
		return;
	state->request = direction == BYTES_RECEIVED;
	if (!state->request)
		return;
	state->serves = 1;
	if (!state->client_epoll) {
		bpf_probe_read_kernel(&address, sizeof(address), &sk);
		in_request_find(address);
	}
}

/*
 * The sleep of a thread, given by its address, in an epoll has ended: notes if a client ended it.
 * `fd` and `flags` are those of the waking, of the file that was ready.
 */
int in_request_woken(u64 task_at, u32 epoll_fd, u32 fd, u32 flags);

#endif
