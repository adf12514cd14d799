// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Bytes on connections: one record for each message that is sent or received, with its range in the
 * stream.
 *
 * TCP: both ends count from the first byte behind the SYN, so both name a range alike. The position
 * is read while the thread itself has locked the socket, at the begin of a send or at the last copy
 * of a receive. It is kept with the thread until the call tells how many bytes went through. So
 * other threads on the socket do not disturb it, and counters are read at one instant.
 *
 * Unix streams and sequenced packets: see unix_queue.h. Datagrams: no number.
 */
#include "bpf/context.h"
#include "bpf/ended.h"
#include "bpf/file.h"
#include "bpf/in_request.h"
#include "bpf/license.h"
#include "bpf/light.h"
#include "bpf/ring.h"
#include "bpf/unix_queue.h"

#define MSG_OOB 1
#define MSG_PEEK 2
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define TCP_SYN_SENT 2

/* A record that is being made, with room up to the end of its last slot. */
struct bytes_out {
	struct record_bytes r;
	u64 rest[3];
};

/* The state of the running thread, if it is in scope. */
static __always_inline struct thread_state *bytes_state(struct task_struct *task)
{
	struct thread_state *state = state_of(task);

	return state_in(state) ? state : NULL;
}

static __always_inline bool bytes_wanted(struct thread_state *state, struct task_struct *task)
{
	context_now(state, task);
	return !spans_only || context_is_set(&state->ctx);
}

/* Whether a position is kept. The span is only read if that depends on it. */
static __always_inline bool position_wanted(struct thread_state *state, struct task_struct *task)
{
	return !spans_only || bytes_wanted(state, task);
}

/* Fills in the file of a socket. False for sockets of the kernel itself, which have no file. */
static __always_inline bool bytes_fill_file(struct file_ref *ref, const struct thread_state *state,
					    struct sock *sk)
{
	u64 key = KERNEL_READ(sk, sk_socket, file, f_inode, i_ino); /* 0 where one is NULL */

	if (!key)
		return false;
	if (state->in_syscall && state->file.key == key && state->file.kind >= FILE_KIND_tcp &&
	    state->file.kind <= FILE_KIND_socket_other) {
		*ref = state->file;
		return true;
	}
	ref->key = key;
	file_fill_socket(ref, sk, true);
	return true;
}

/* Reserves room for the record and stamps it. Only the range is left to be filled in. */
static __always_inline bool bytes_begin(struct bytes_out *out, struct ring_place *place,
					struct thread_state *state, struct task_struct *task)
{
	struct record_bytes *r = &out->r;
	u32 n = 1;

	if (context_is_set(&state->ctx)) {
		r->ctx = state->ctx;
		n = 2;
	}
	if (light_may_run(state) && light_read(state)) {
		r->light = state->light_id;
		r->light_maker = state->light_maker;
		n = 2;
	}
	if (ring_reserve(place, n, RECORD_bytes))
		return false;
	r->head.kind = RECORD_bytes;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->head.slots = n;
	r->head.time_ns = bpf_ktime_get_ns();
	return true;
}

/* ---- TCP ---- */

/*
 * How many bytes were sent before write_seq. The count of acknowledged bytes includes the SYN of
 * the end that connected. The count of bytes handed to the network does not, but stays wrong once
 * that failed.
 */
static __always_inline u64 tcp_sent(const struct tcp_sock *tcp, const struct sock *sk, u32 *flags)
{
	u64 acked = tcp->bytes_acked;
	u32 una = tcp->snd_una;
	u64 data = tcp->bytes_sent - tcp->bytes_retrans - (u32)(tcp->snd_nxt - una);
	u64 syn = acked - data;

	if (syn > 1) {
		*flags |= BYTES_UNSURE;
		syn = sk->sk_max_ack_backlog ? 0 : 1; /* inherited from the listener */
	}
	return acked - syn + (u32)(tcp->write_seq - una);
}

/* How many bytes were received before copied_seq. */
static __always_inline u64 tcp_received(const struct tcp_sock *tcp)
{
	return tcp->bytes_received - (u32)(tcp->rcv_nxt - tcp->copied_seq);
}

/* Records the first part of a message that waited for room while another thread sent. */
static __always_inline void tcp_tell_piece(struct thread_state *state, struct task_struct *task,
					   struct sock *sk, u64 length)
{
	struct bytes_out out = {.r.direction = BYTES_SENT,
				.r.flags = state->bytes_flags,
				.r.from = state->bytes_at,
				.r.length = length};
	struct ring_place place;

	state->bytes_told += length;
	context_now(state, task);
	if (length && bytes_fill_file(&out.r.file, state, sk) &&
	    bytes_begin(&out, &place, state, task))
		ring_publish(&place, &out.r, out.r.head.slots);
}

/* Flags for a socket with a layer in between, like TLS, which changes the bytes of a call. */
static __always_inline u32 tcp_flags(const struct tcp_sock *tcp)
{
	return tcp->inet_conn.icsk_ulp_ops ? BYTES_UNSURE : 0;
}

/* Sockets that asked to be connected, and have not sent since. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} tcp_fresh SEC(".maps");

/* Notes that a socket begins to connect. If its send is seen already, it is at position 0. */
static __always_inline void tcp_begins(struct sock *sk)
{
	struct thread_state *state = bytes_state(bpf_get_current_task_btf());

	if (state && state->bytes_sock != (u64)sk)
		bpf_sk_storage_get(&tcp_fresh, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

#define TCP_FIRST_SEGMENTS 2 /* a first message, and its bytes that went with the SYN */

/*
 * Whether this is the first message of a connection. With fast open a part of it went with the SYN,
 * before it is first seen: all bytes sent until then belong to it.
 */
static __always_inline bool tcp_is_first(const struct tcp_sock *tcp, struct sock *sk)
{
	if (tcp->data_segs_out > TCP_FIRST_SEGMENTS || !bpf_sk_storage_get(&tcp_fresh, sk, 0, 0))
		return false;
	bpf_sk_storage_delete(&tcp_fresh, sk);
	return true;
}

/* With spans_only: notes that the first message was sent outside of spans. */
static __always_inline void tcp_sent_untold(struct sock *sk)
{
	if (KERNEL_READ((struct tcp_sock *)sk, data_segs_out) <= TCP_FIRST_SEGMENTS)
		bpf_sk_storage_delete(&tcp_fresh, sk);
}

/* Notes the bytes of a message that are left to be sent, under the socket's lock. */
static __always_inline int tcp_send_goes_on(struct sock *sk, u64 left)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = bytes_state(task);
	struct tcp_sock *tcp;
	u64 at, gone;
	u32 flags;

	if (!state || !position_wanted(state, task))
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	flags = tcp_flags(tcp);
	at = tcp_sent(tcp, sk, &flags);
	if (state->bytes_sock == (u64)sk && left <= state->bytes_left) {
		gone = state->bytes_left - left;
		if (at == state->bytes_at + gone)
			return 0;
		tcp_tell_piece(state, task, sk, gone);
	} else {
		state->bytes_told = 0;
		if (tcp_is_first(tcp, sk)) {
			left += at;
			at = 0;
		}
	}
	state->bytes_sock = (u64)sk;
	state->bytes_at = at;
	state->bytes_left = left;
	state->bytes_flags = flags;
	return 0;
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(tcp_sendmsg_locked, struct sock *sk, struct msghdr *msg)
{
	return tcp_send_goes_on(sk, msg->msg_iter.count);
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(tcp_rcv_space_adjust, struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = bytes_state(task);
	struct tcp_sock *tcp;

	if (!state || !position_wanted(state, task))
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	state->bytes_sock = (u64)sk;
	state->bytes_at = tcp_received(tcp);
	state->bytes_left = 0; /* no send goes on from here */
	state->bytes_flags = tcp_flags(tcp);
	return 0;
}

/*
 * Reads the position from the socket now, if it was not kept under the lock. That is right if no
 * other thread uses the socket and no packet comes between two reads of its counters.
 */
static __always_inline void tcp_ask(struct record_bytes *r, struct sock *sk)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	u32 flags = BYTES_UNSURE;
	u64 end = 0;

	if (tcp && r->direction == BYTES_SENT && tcp_is_first(tcp, sk)) {
		r->flags = tcp_flags(tcp);
		return; /* all of it went with the SYN */
	}
	if (tcp && r->direction == BYTES_SENT)
		end = tcp_sent(tcp, sk, &flags);
	else if (tcp)
		end = tcp_received(tcp);
	r->flags = flags;
	r->from = end > r->length ? end - r->length : 0;
}

static __always_inline void tcp_fill(struct record_bytes *r, const struct thread_state *state,
				     struct sock *sk)
{
	if (state->bytes_sock != (u64)sk) {
		tcp_ask(r, sk);
		return;
	}
	r->flags = state->bytes_flags;
	if (r->direction == BYTES_RECEIVED) {
		r->from = state->bytes_at - r->length;
		return;
	}
	r->from = state->bytes_at;
	r->length -= state->bytes_told;
}

/* ---- Unix ---- */

/* The begin of the thread's call. Where calls are not recorded: a time before it. */
static __always_inline u64 unix_begin_ns(const struct thread_state *state)
{
	if (calls_are_followed(state))
		return state->begin_ns;
	return state->bytes_end_ns ? state->bytes_end_ns : state_known_ns(state);
}

/* Must be called for each call, recorded or not, since it counts bytes. */
static __always_inline void unix_fill(struct record_bytes *r, struct thread_state *state,
				      struct sock *sk)
{
	struct unix_queue *queue = NULL;
	struct unix_call call = {.begin_ns = unix_begin_ns(state),
				 .end_ns = r->head.time_ns,
				 .amount = r->length,
				 .tid = r->head.tid};
	struct sock *to = sk; /* the socket that has the queue */
	struct unix_sock *end;
	bool unsure = true;

	call.messages = sk->sk_type != SOCK_STREAM;
	if (call.messages) {
		r->flags = BYTES_MESSAGE;
		call.amount = 1;
	}
	/* a datagram socket may lose its peer meanwhile; the others hold theirs */
	end = sk->sk_type != SOCK_DGRAM ? bpf_skc_to_unix_sock(sk) : NULL;
	if (end && r->direction == BYTES_SENT) {
		to = end->peer;
		end = to ? bpf_skc_to_unix_sock(to) : NULL;
	}
	if (end)
		queue = bpf_sk_storage_get(&unix_queues, to, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (queue && r->direction == BYTES_SENT)
		r->from = unix_sent(queue, end, &call, &unsure);
	else if (queue)
		r->from = unix_received(queue, end, &call, &unsure);
	if (unsure)
		r->flags |= BYTES_UNSURE;
	state->bytes_end_ns = call.end_ns;
}

/* ---- both ---- */

/* Tells the addresses of a socket with that key, if no call tells them. */
static __always_inline void bytes_name_socket(struct sock *sk, u64 key)
{
	u64 address = 0; /* as a number, for the verifier */

	if (ended_is_told(key, KERNEL_READ(sk, sk_socket, file)))
		return;
	bpf_probe_read_kernel(&address, sizeof(address), &sk);
	ended_name_bytes(address);
}

static __always_inline void bytes_went(struct thread_state *state, struct task_struct *task,
				       struct sock *sk, struct bytes_out *out)
{
	struct record_bytes *r = &out->r;
	u16 family = sk->__sk_common.skc_family;
	struct ring_place place;
	bool told = bytes_wanted(state, task);

	if (!told && out->r.direction == BYTES_SENT && sk->sk_protocol == IPPROTO_TCP)
		tcp_sent_untold(sk);
	if (family != AF_UNIX && (!told || (family != AF_INET && family != AF_INET6)))
		return;
	if (!bytes_fill_file(&r->file, state, sk))
		return;
	in_request_bytes(state, &r->file, sk, r->direction);
	if (told && !calls_are_followed(state))
		bytes_name_socket(sk, r->file.key);
	if (told)
		told = bytes_begin(out, &place, state, task);
	if (family == AF_UNIX) {
		if (!told) {
			r->head.tid = task->pid;
			r->head.time_ns = bpf_ktime_get_ns();
		}
		unix_fill(r, state, sk);
	} else if (sk->sk_protocol == IPPROTO_TCP) {
		tcp_fill(r, state, sk);
	} else { /* multipath TCP has a numbering of its own */
		r->flags = BYTES_UNSURE | (sk->sk_type == SOCK_STREAM ? 0 : BYTES_MESSAGE);
	}
	if (told)
		ring_publish(&place, r, r->head.slots);
}

static __always_inline int bytes_end(struct sock *sk, int result, u8 direction)
{
	struct task_struct *task;
	struct thread_state *state;
	struct bytes_out out = {.r.direction = direction, .r.length = result};

	if (result <= 0 && sk->sk_protocol != IPPROTO_TCP)
		return 0; /* nothing went through, and no position was kept */
	task = bpf_get_current_task_btf();
	state = bytes_state(task);
	if (!state)
		return 0;
	if (result > 0)
		bytes_went(state, task, sk, &out);
	state->bytes_sock = 0;
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send_length, struct sock *sk, int result)
{
	return bytes_end(sk, result, BYTES_SENT);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sk, int result, int flags)
{
	if (flags & (MSG_PEEK | MSG_OOB))
		result = 0;
	return bytes_end(sk, result, BYTES_RECEIVED);
}
