// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Addresses that calls name: whom a connect asks for, at its begin, since it may fail or last; and
 * to or from whom a message of a socket without a connection went, at the end of its call.
 */
#include "bpf/peer.h"
#include "bpf/call.h"
#include "bpf/file.h"
#include "bpf/license.h"
#include "bpf/ring.h"
#include "bpf/socket.h"
#include "bpf/state.h"
#include "record/syscalls.h"

#define PEER_BYTES 192
#define UNIX_PATH_BYTES 108

/* An address as programs write it. */
struct peer_address {
	u16 family;
	u16 port; /* network byte order */
	union {
		u32 v4;
		struct {
			u32 flow;
			u64 v6[2];
		} __attribute__((packed));
		u8 room[124];
	};
};

struct peer_scratch {
	struct socket_scratch socket;
	union {
		struct record_peer r;
		u8 bytes[PEER_BYTES];
	};
	struct peer_address address;
};

/* One buffer for each program that calls, since a program does not nest on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct peer_scratch);
} peer_places SEC(".maps");

/* Reads an address of a program; 0: there is none. Returns its bytes. */
static __always_inline u64 peer_read(struct peer_scratch *s, u64 at, u32 bytes)
{
	u64 n = bytes;

	if (!at || n <= SOCKADDR_FAMILY_BYTES)
		return 0;
	if (n > SOCKADDR_FAMILY_BYTES + UNIX_PATH_BYTES)
		n = SOCKADDR_FAMILY_BYTES + UNIX_PATH_BYTES;
	BOUND(n, 127);
	__builtin_memset(&s->address, 0, sizeof(s->address));
	if (bpf_probe_read_user(&s->address, n, (void *)at)) {
		ring_count_incomplete();
		return 0;
	}
	return n;
}

/*
 * Copies the path of a Unix address of `bytes` bytes. Returns its length. The helper looks for the
 * end of the path: a loop here is what the verifier would spend an eighth of its time on.
 */
static __always_inline u64 peer_path(char *to, const struct peer_scratch *s, u64 bytes)
{
	const char *from = (const char *)&s->address + SOCKADDR_FAMILY_BYTES;
	u64 n = bytes - SOCKADDR_FAMILY_BYTES;
	long got;

	BOUND(n, 127);
	if (n > UNIX_PATH_BYTES)
		return 0;
	if (from[0]) {
		got = bpf_probe_read_kernel_str(to, n + 1, from);
		n = got > 0 ? got - 1 : 0;
		BOUND(n, 127);
		return n;
	}
	if (bpf_probe_read_kernel(to, n, from))
		return 0;
	to[0] = '@'; /* an abstract address */
	return n;
}

static __always_inline void peer_put_inet(const struct peer_address *from, u64 *hi, u64 *lo,
					  u16 *port)
{
	*hi = *lo = 0;
	*port = from->family == AF_INET || from->family == AF_INET6 ? bpf_ntohs(from->port) : 0;
	if (from->family == AF_INET) {
		*lo = MAPPED_PREFIX | (u64)from->v4 << 32;
	} else if (from->family == AF_INET6) {
		*hi = from->v6[0];
		*lo = from->v6[1];
	}
}

/* ---- connect ---- */

/* Puts the address that is asked for in place of that of the socket's peer. */
static __always_inline void peer_ask(struct peer_scratch *s, u64 bytes)
{
	struct record_socket *r = &s->socket.r;
	u16 port = 0;
	u64 hi, lo;

	r->file.flags |= FILE_ASKED;
	r->peer = 0;
	r->path_len = 0;
	if (r->file.kind == FILE_KIND_unix) {
		r->path_len = peer_path(r->path, s, bytes);
		return;
	}
	peer_put_inet(&s->address, &hi, &lo, &port);
	r->remote_hi = hi;
	r->remote_lo = lo;
	r->remote_port = port;
}

int peer_asked(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct thread_state *state = state_of(task);
	struct peer_scratch *s;
	struct file *file;
	u32 zero = 0;
	u64 args[6], bytes, filled;

	s = bpf_map_lookup_elem(&peer_places, &zero);
	if (!s || !state)
		return 0;
	call_arguments(args, regs, state->nr, state->compat);
	file = file_of_fd(task, args[0]);
	bytes = peer_read(s, args[1], args[2]);
	if (!file || !bytes)
		return 0;
	filled = socket_fill(&s->socket, task, file);
	if (!filled)
		return 0;
	peer_ask(s, bytes);
	short_emit(&s->socket.r.head,
		   __builtin_offsetof(struct record_socket, path) + s->socket.r.path_len);
	return 0;
}

/* ---- messages ---- */

/* Where the address of the message of a call lies, and how long it is. */
struct peer_place {
	u64 at;
	u32 bytes;
};

static __always_inline void peer_of_header(struct peer_place *place, u64 header, bool compat)
{
	struct {
		u64 name;
		u32 bytes;
	} native = {};
	struct {
		u32 name, bytes;
	} narrow = {};

	if (!compat && !bpf_probe_read_user(&native, sizeof(native), (void *)header))
		*place = (struct peer_place){native.name, native.bytes};
	if (compat && !bpf_probe_read_user(&narrow, sizeof(narrow), (void *)header))
		*place = (struct peer_place){narrow.name, narrow.bytes};
}

static __always_inline void peer_place(struct peer_place *place, const u64 args[6], u32 row,
				       bool compat)
{
	switch (row) {
	case SYSCALL_NR_sendto:
		*place = (struct peer_place){args[4], args[5]};
		break;
	case SYSCALL_NR_recvfrom:
		place->at = args[4];
		if (args[4])
			bpf_probe_read_user(&place->bytes, sizeof(place->bytes), (void *)args[5]);
		break;
	case SYSCALL_NR_sendmsg:
	case SYSCALL_NR_recvmsg:
	case SYSCALL_NR_sendmmsg: /* the first message */
	case SYSCALL_NR_recvmmsg:
		peer_of_header(place, args[1], compat);
		break;
	}
}

static __always_inline u32 peer_fill(struct peer_scratch *s, const struct thread_state *state,
				     struct task_struct *task, struct file *file)
{
	struct socket *socket = KERNEL_READ(file, private_data);
	struct sock *sk = KERNEL_READ(socket, sk);
	struct record_peer *r = &s->r;
	u16 port = 0;
	u64 hi, lo;

	__builtin_memset(r, 0, PEER_BYTES);
	r->head.kind = RECORD_peer;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->call_ns = state->begin_ns;
	r->file = state->file;
	r->family = s->address.family;
	r->netns = KERNEL_READ(sk, __sk_common.skc_net.net, net_cookie);
	peer_put_inet(&s->address, &hi, &lo, &port);
	r->address_hi = hi;
	r->address_lo = lo;
	r->port = port;
	return __builtin_offsetof(struct record_peer, path);
}

__noinline int peer_tell(long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct thread_state *state = state_of(task);
	struct peer_place place = {};
	struct peer_scratch *s;
	struct file *file;
	u32 zero = 0, fill;
	u64 args[6], bytes;

	s = bpf_map_lookup_elem(&peer_places, &zero);
	if (!s || !state)
		return 0;
	call_arguments(args, regs, state->nr, state->compat);
	peer_place(&place, args, state->row, state->compat);
	bytes = peer_read(s, place.at, place.bytes);
	file = file_of_fd(task, args[0]);
	if (!bytes || !file || (KERNEL_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	fill = peer_fill(s, state, task, file);
	if (s->address.family == AF_UNIX)
		s->r.path_len = peer_path(s->r.path, s, bytes);
	short_emit(&s->r.head, fill + s->r.path_len);
	return 0;
}
