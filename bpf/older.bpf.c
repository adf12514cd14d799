// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Stand-ins for tracepoints that older kernels lack. Capture's table of features tells for which
 * tracepoint each program stands. It is loaded only if that is missing and functions can be traced.
 *
 *  before 6.3  sock_send_length, sock_recv_length: the ends of the functions that
 *		send and receive, for each family. Sequenced packets go through
 *		those of streams and datagrams. Until 6.5 files are sent by pages.
 *  before 6.16 tcp_sendmsg_locked: the function of that name, once a call; and the
 *		one in which it waits for room.
 *  before 6.17 the length of a Unix stream's queue, which tells what splice took:
 *		the function that does it. What was queued before the first sight is
 *		not known, and so the positions are unsure until the queue is empty.
 *  before 6.3  sk_data_ready: what every socket does by default with new data.
 *  before 6.3  io_uring_submit_req has another name.
 */
#include "bpf/uring.h"

#define OLDER_SENT(name, function)                                                                 \
	SEC("fexit/" #function)                                                                    \
	int BPF_PROG(name, struct socket *socket, struct msghdr *msg, u64 size, int result)        \
	{                                                                                          \
		return bytes_end(socket->sk, result, BYTES_SENT);                                  \
	}
#define OLDER_RECEIVED(name, function)                                                             \
	SEC("fexit/" #function)                                                                    \
	int BPF_PROG(name, struct socket *socket, struct msghdr *msg, u64 size, int flags,         \
		     int result)                                                                   \
	{                                                                                          \
		if (flags & (MSG_PEEK | MSG_OOB))                                                  \
			result = 0;                                                                \
		return bytes_end(socket->sk, result, BYTES_RECEIVED);                              \
	}

OLDER_SENT(inet_sent, inet_sendmsg)
OLDER_SENT(inet6_sent, inet6_sendmsg)
OLDER_SENT(unix_stream_sent, unix_stream_sendmsg)
OLDER_SENT(unix_dgram_sent, unix_dgram_sendmsg)
OLDER_RECEIVED(inet_received, inet_recvmsg)
OLDER_RECEIVED(inet6_received, inet6_recvmsg)
OLDER_RECEIVED(unix_stream_received, unix_stream_recvmsg)

/* Without the function around it, which is no function of its own for sequenced packets. */
SEC("fexit/__unix_dgram_recvmsg")
int BPF_PROG(unix_dgram_received, struct sock *sk, struct msghdr *msg, u64 size, int flags,
	     int result)
{
	if (flags & (MSG_PEEK | MSG_OOB))
		result = 0;
	return bytes_end(sk, result, BYTES_RECEIVED);
}

/* A protocol that takes no pages sends a message instead, which is told by itself. */
SEC("fexit/inet_sendpage")
int BPF_PROG(inet_page_sent, struct socket *socket, void *page, int offset, u64 size, int flags,
	     long result)
{
	return sock_takes_pages(socket->sk) ? bytes_end(socket->sk, result, BYTES_SENT) : 0;
}

SEC("fexit/unix_stream_sendpage")
int BPF_PROG(unix_page_sent, struct socket *socket, void *page, int offset, u64 size, int flags,
	     long result)
{
	return bytes_end(socket->sk, result, BYTES_SENT);
}

/* tcp_sendpage_locked() will not do, since some compilers inline it. */
SEC("fentry/do_tcp_sendpages")
int BPF_PROG(tcp_page_begins, struct sock *sk, void *page, int offset, u64 size)
{
	return tcp_send_goes_on(sk, size);
}

SEC("fentry/tcp_sendmsg_locked")
int BPF_PROG(tcp_send_begins, struct sock *sk, struct msghdr *msg, u64 size)
{
	return tcp_send_goes_on(sk, msg->msg_iter.count);
}

/* The TCP socket of the send that the running thread is in; NULL if that is another. */
static __always_inline struct tcp_sock *tcp_of_send(const struct thread_state *state,
						    struct sock *sk)
{
	return state && state->bytes_sock == (u64)sk ? bpf_skc_to_tcp_sock(sk) : NULL;
}

/* It lets the socket go while it waits for room: what was sent until then is its own. */
SEC("fentry/sk_stream_wait_memory")
int BPF_PROG(tcp_send_waits, struct sock *sk)
{
	struct thread_state *state = bytes_state(bpf_get_current_task_btf());
	struct tcp_sock *tcp = tcp_of_send(state, sk);
	u32 flags = 0;

	if (tcp)
		state->bytes_left = tcp_sent(tcp, sk, &flags) - state->bytes_at;
	return 0;
}

/* And then another thread sent, or none did. */
SEC("fexit/sk_stream_wait_memory")
int BPF_PROG(tcp_send_resumes, struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = bytes_state(task);
	struct tcp_sock *tcp = tcp_of_send(state, sk);
	u32 flags = 0;
	u64 at;

	if (!tcp)
		return 0;
	at = tcp_sent(tcp, sk, &flags);
	if (at == state->bytes_at + state->bytes_left)
		return 0;
	tcp_tell_piece(state, task, sk, state->bytes_left);
	state->bytes_at = at;
	return 0;
}

/* Counts the bytes that splice takes out of the queue, for which there is no record. */
SEC("fexit/unix_stream_splice_read")
int BPF_PROG(unix_stream_spliced, struct socket *socket, void *offset, void *pipe, u64 size,
	     u32 flags, long result)
{
	struct unix_queue *queue;
	struct sock *sk = socket->sk;

	if (result <= 0 || !sk || !bytes_state(bpf_get_current_task_btf()))
		return 0;
	queue = bpf_sk_storage_get(&unix_queues, sk, 0, 0);
	if (!queue)
		return 0;
	bpf_spin_lock(&queue->lock);
	queue->receiver.at += result;
	queue->flags |= QUEUE_RECEIVED;
	bpf_spin_unlock(&queue->lock);
	return 0;
}

SEC("fentry/sock_def_readable")
int BPF_PROG(sock_readable, struct sock *sk)
{
	socket_is_served(sk);
	return 0;
}

SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(io_uring_submit_sqe, struct io_kiocb *req)
{
	u64 address = (u64)req;

	return uring_submitted(&address);
}
