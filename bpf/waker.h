/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The cause of a wake-up: the file that the waking thread works on, or the socket to which a
 * softirq brought data. A packet of a connection within the host is delivered by a softirq inside
 * the call of the sender. Then the sender is the waker. If the socket is the other end of the one
 * that the call works on, it was the sender, and not an interrupt in the middle of the call.
 */
#ifndef BPF_WAKER_H
#define BPF_WAKER_H

#include "bpf/call.h"
#include "bpf/call_now.h"
#include "bpf/ended.h"
#include "bpf/file.h"
#include "bpf/interrupt.h"
#include "bpf/kernel_versions.h"
#include "bpf/state.h"
#include "record/syscalls.h"

/* The kinds of files that a thread can wait for; others say nothing about a wake-up. */
#define WAKER_FILES                                                                                \
	(1u << FILE_KIND_pipe | 1u << FILE_KIND_fifo | 1u << FILE_KIND_unix |                      \
	 1u << FILE_KIND_eventfd | 1u << FILE_KIND_timerfd | 1u << FILE_KIND_tcp |                 \
	 1u << FILE_KIND_udp | 1u << FILE_KIND_socket_other | 1u << FILE_KIND_netlink)

/* The state of the waker; NULL if it is out of scope, when its state is not kept up to date. */
static __always_inline struct thread_state *waker_state(struct task_struct *waker)
{
	struct thread_state *state = state_known(waker);

	return state_in(state) ? state : NULL;
}

/* Fills in a thread as the waker, with the file of its call if that is known. */
static __always_inline void waker_fill_task(struct record_waking *r, struct task_struct *waker)
{
	struct thread_state *state = waker_state(waker);

	r->context = WAKE_task;
	r->waker_tid = tid_of(waker, state);
	if (!state || !call_is_under_way(state)) {
		if (task_runs_cputimers(waker))
			r->context = WAKE_timer;
		return;
	}
	state_take_call(state);
	if (state->begin_ns == CALL_UNTOLD_NS)
		call_find_file();
	if (state->file.kind < 32 && (1u << state->file.kind & WAKER_FILES))
		r->file = state->file;
}

static __always_inline int waker_fd(struct pt_regs *regs);
static __always_inline void waker_socket(struct file_ref *ref, struct sock *sk);

/*
 * A thread wakes one that waits for many files: fills in the socket to which it brought data, else
 * the file that it works on, which says nothing if it is of another kind.
 */
static __always_inline void waker_fill_ended(struct record_waking *r, struct task_struct *waker,
					     const struct interrupt_state *interrupt)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(waker);
	struct sock *sk = interrupt_readied(interrupt, waker, regs);
	struct file *file;
	int fd;

	if (sk && (!r->file.kind || r->file.kind == FILE_KIND_unix)) {
		__builtin_memset(&r->file, 0, sizeof(r->file));
		waker_socket(&r->file, sk);
		return;
	}
	if (r->file.kind || waker->thread_info.status & TS_COMPAT)
		return;
	fd = waker_fd(regs);
	file = fd >= 0 ? file_of_fd(waker, fd) : NULL;
	if (file)
		file_fill(&r->file, file);
	if (r->file.kind >= 32 || !(1u << r->file.kind & WAKER_FILES))
		__builtin_memset(&r->file, 0, sizeof(r->file));
}

/* The descriptor that a call sends on or receives from; -1: no such call. */
static __always_inline int waker_fd(struct pt_regs *regs)
{
	switch ((long)KERNEL_READ(regs, orig_ax)) { /* -1 if an interrupt hit user mode */
	case SYSCALL_NR_read:
	case SYSCALL_NR_readv:
	case SYSCALL_NR_write:
	case SYSCALL_NR_writev:
	case SYSCALL_NR_sendto:
	case SYSCALL_NR_sendmsg:
	case SYSCALL_NR_sendmmsg:
	case SYSCALL_NR_recvfrom:
	case SYSCALL_NR_recvmsg:
	case SYSCALL_NR_recvmmsg:
	case SYSCALL_NR_sendfile:
		return KERNEL_READ(regs, di);
	case SYSCALL_NR_splice:
		return KERNEL_READ(regs, dx);
	}
	return -1;
}

static __always_inline u16 port_swap(u16 port)
{
	return port << 8 | port >> 8;
}

static __always_inline u16 sock_port(struct sock *sk)
{
	u16 port = KERNEL_READ(sk, __sk_common.skc_num);

	/* a reset clears skc_num */
	return port ? port : port_swap(KERNEL_READ((struct inet_sock *)sk, inet_sport));
}

static __always_inline u16 sock_port_to(struct sock *sk)
{
	return port_swap(KERNEL_READ(sk, __sk_common.skc_dport));
}

/* Whether two TCP sockets are the ends of one connection. A listener has no other end. */
static __always_inline bool socks_are_ends(struct sock *mine, struct sock *other)
{
	u16 other_to = sock_port_to(other);

	return sock_port_to(mine) == sock_port(other) && (!other_to || other_to == sock_port(mine));
}

/* The port in the arguments of a send, or of the first message if it has many; 0: none. */
static __always_inline u16 waker_port_to(struct pt_regs *regs)
{
	void *address = NULL;
	u16 port = 0;

	switch (KERNEL_READ(regs, orig_ax)) {
	case SYSCALL_NR_sendto:
		address = (void *)KERNEL_READ(regs, r8);
		break;
	case SYSCALL_NR_sendmsg:
	case SYSCALL_NR_sendmmsg: /* a message header begins with the address */
		bpf_probe_read_user(&address, sizeof(address), (void *)KERNEL_READ(regs, si));
	}
	if (address)
		bpf_probe_read_user(&port, sizeof(port), address + SOCKADDR_FAMILY_BYTES);
	return port_swap(port);
}

/* Whether the last datagram in the queue came from that port. */
static __always_inline bool sock_has_from(struct sock *sk, u16 port)
{
	struct sk_buff *last = KERNEL_READ(sk, sk_receive_queue.prev);
	u16 from = 0;

	if (!KERNEL_READ(sk, sk_receive_queue.qlen))
		return false;
	bpf_probe_read_kernel(&from, sizeof(from),
			      KERNEL_READ(last, head) + KERNEL_READ(last, transport_header));
	return port_swap(from) == port;
}

/*
 * Whether the call sends from its UDP socket to the other one. Either may have no peer. If the
 * other one takes datagrams from everybody, the last one in its queue decides: another may have
 * come by an interrupt in the middle of the call.
 */
static __always_inline bool socks_are_sent(struct sock *mine, struct sock *other,
					   struct pt_regs *regs)
{
	u16 to = waker_port_to(regs), other_to = sock_port_to(other), from = sock_port(mine);

	if ((to ? to : sock_port_to(mine)) != sock_port(other))
		return false;
	return other_to ? other_to == from : sock_has_from(other, from);
}

/* Whether the softirq that brought data to the socket is part of the running thread's call. */
static __always_inline bool waker_feeds(struct task_struct *waker, struct sock *sk, u16 kind,
					const struct interrupt_state *interrupt)
{
	struct thread_state *state = waker_state(waker);
	struct socket *socket;
	struct pt_regs *regs;
	struct file *file;
	struct sock *mine;
	u16 family;
	int fd;

	if (task_is_kernels(waker) || (kind != FILE_KIND_tcp && kind != FILE_KIND_udp))
		return false;
	/* the socket on which the thread sends or receives now, as net.bpf.c keeps it */
	if (state && calls_are_followed(state) && state->in_syscall && state->bytes_sock)
		return kind == FILE_KIND_tcp &&
		       socks_are_ends((struct sock *)state->bytes_sock, sk);
	regs = (struct pt_regs *)bpf_task_pt_regs(waker);
	/* a socket that the thread connects, shuts down or closes may have no descriptor any more
	 */
	mine = kind == FILE_KIND_tcp ? interrupt_changed(interrupt, waker, regs) : NULL;
	if (mine && socks_are_ends(mine, sk))
		return true;
	if (waker->thread_info.status & TS_COMPAT)
		return false;
	fd = waker_fd(regs);
	file = fd >= 0 ? file_of_fd(waker, fd) : NULL;
	if (!file || (KERNEL_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return false;
	socket = KERNEL_READ(file, private_data);
	mine = KERNEL_READ(socket, sk);
	family = KERNEL_READ(mine, __sk_common.skc_family);
	if ((family != AF_INET && family != AF_INET6) ||
	    KERNEL_READ(mine, sk_protocol) != KERNEL_READ(sk, sk_protocol))
		return false;
	return kind == FILE_KIND_tcp ? socks_are_ends(mine, sk) : socks_are_sent(mine, sk, regs);
}

/* The file of the request that a worker of io_uring carries out. */
static __always_inline void waker_request(struct file_ref *ref, struct task_struct *waker)
{
	struct io_kiocb *request = uring_worked_on(waker);
	struct file *file = request ? KERNEL_READ(request, file) : NULL;

	if (file)
		file_fill(ref, file);
}

static __always_inline void waker_socket(struct file_ref *ref, struct sock *sk)
{
	struct socket *socket = KERNEL_READ(sk, sk_socket);

	file_fill_socket(ref, sk, true);
	if (socket) /* there is none before accept() */
		ref->key = KERNEL_READ((struct socket_alloc *)socket, vfs_inode.i_ino);
}

#endif
