/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Writes the two addresses of a socket into a socket record. */
#ifndef BPF_SOCKET_H
#define BPF_SOCKET_H

#include "bpf/file.h"

#include <bpf/bpf_endian.h>

#define SOCKET_BYTES 256	    /* the size of a socket record, in whole slots */
#define MAPPED_PREFIX 0xffff0000ull /* ::ffff:a.b.c.d, bytes 8 to 11, little endian */

/*
 * Connections within the host, by the addresses as the end that was told first has them. The other
 * end finds it by them when it is told, since the kernel does not link the two.
 */
struct socket_end {
	u64 netns, local_hi, local_lo, remote_hi, remote_lo;
	u32 local_port, remote_port;
};

struct socket_found {
	u64 sk, key;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct socket_end);
	__type(value, struct socket_found);
} socket_ends SEC(".maps") __weak;

/* Where a socket record is made. The ends are not on the stack, since call chains are deep there.
 */
struct socket_scratch {
	union {
		struct record_socket r;
		u8 bytes[SOCKET_BYTES];
	};
	struct socket_end mine, other;
	struct socket_found me;
};

static __always_inline u64 socket_key(struct socket *socket)
{
	return KERNEL_READ((struct socket_alloc *)socket, vfs_inode.i_ino);
}

/* Whether it is still that socket. Its memory may belong to another one by now. */
static __always_inline bool socket_is(const struct socket_found *found,
				      const struct socket_end *end)
{
	struct sock *sk = (struct sock *)found->sk;
	struct socket *socket = KERNEL_READ(sk, sk_socket);

	return socket && socket_key(socket) == found->key &&
	       KERNEL_READ(sk, __sk_common.skc_num) == end->local_port &&
	       bpf_ntohs(KERNEL_READ(sk, __sk_common.skc_dport)) == end->remote_port;
}

/* The key of the other end, if that was told before; else 0, and this end is remembered. */
static __always_inline u64 socket_tcp_peer(struct socket_scratch *s, struct sock *sk)
{
	const struct record_socket *r = &s->r;
	struct socket_found *found;

	if (!(r->file.flags & FILE_PEER_ON_HOST) || !r->remote_port)
		return 0;
	s->other = (struct socket_end){r->netns,    r->remote_hi,   r->remote_lo, r->local_hi,
				       r->local_lo, r->remote_port, r->local_port};
	found = bpf_map_lookup_elem(&socket_ends, &s->other);
	if (found && socket_is(found, &s->other))
		return found->key;
	s->mine = (struct socket_end){r->netns,	    r->local_hi,   r->local_lo,	  r->remote_hi,
				      r->remote_lo, r->local_port, r->remote_port};
	s->me = (struct socket_found){(u64)sk, r->file.key};
	bpf_map_update_elem(&socket_ends, &s->mine, &s->me, BPF_ANY);
	return 0;
}

static __always_inline void socket_inet_fill(struct record_socket *r, struct sock *sk)
{
	u64 pair[2];

	if (r->family == AF_INET) {
		r->local_lo = MAPPED_PREFIX | (u64)KERNEL_READ(sk, __sk_common.skc_rcv_saddr) << 32;
		r->remote_lo = MAPPED_PREFIX | (u64)KERNEL_READ(sk, __sk_common.skc_daddr) << 32;
	} else {
		file_read_address(pair, &sk->__sk_common.skc_v6_rcv_saddr);
		r->local_hi = pair[0];
		r->local_lo = pair[1];
		file_read_address(pair, &sk->__sk_common.skc_v6_daddr);
		r->remote_hi = pair[0];
		r->remote_lo = pair[1];
	}
	r->local_port = KERNEL_READ(sk, __sk_common.skc_num);
	r->remote_port = bpf_ntohs(KERNEL_READ(sk, __sk_common.skc_dport));
}

/* Fills in the address of a Unix socket. One that only connected has none: then its peer's. */
static __always_inline void socket_unix_fill(struct record_socket *r, struct sock *sk)
{
	struct unix_sock *own = (void *)sk;
	struct sock *peer = KERNEL_READ(own, peer);
	struct unix_address *address = KERNEL_READ(own, addr);
	struct socket *socket = KERNEL_READ(peer, sk_socket);
	char *name;
	int len;
	u64 n;

	if (socket) /* 0 before accept() */
		r->peer = socket_key(socket);
	if (!address)
		address = KERNEL_READ((struct unix_sock *)peer, addr);
	len = KERNEL_READ(address, len);
	if (!address || len <= SOCKADDR_FAMILY_BYTES)
		return;
	n = len - SOCKADDR_FAMILY_BYTES;
	if (n > sizeof(r->path))
		n = sizeof(r->path);
	BOUND(n, 127);
	name = (char *)address + bpf_core_field_offset(struct unix_address, name);
	if (n > sizeof(r->path) || bpf_probe_read_kernel(r->path, n, name + SOCKADDR_FAMILY_BYTES))
		return;
	r->path_len = n;
	if (r->path[0] == '\0')
		r->path[0] = '@'; /* an abstract address */
	else if (r->path[(n - 1) & 127] == '\0')
		r->path_len = n - 1;
}

/*
 * Fills the record, all SOCKET_BYTES of it except for the time. Returns how many bytes are used, 0
 * if the file is no socket with addresses.
 */
static __always_inline u64 socket_fill(struct socket_scratch *s, struct task_struct *task,
				       struct file *file)
{
	struct record_socket *r = &s->r;
	struct file_ref ref = {};
	struct socket *socket;
	struct sock *sk;

	file_fill_as(&ref, file, false);
	if (ref.kind != FILE_KIND_tcp && ref.kind != FILE_KIND_udp && ref.kind != FILE_KIND_unix)
		return 0;
	socket = KERNEL_READ(file, private_data);
	sk = KERNEL_READ(socket, sk);
	__builtin_memset(r, 0, SOCKET_BYTES);
	r->head.kind = RECORD_socket;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->file = ref;
	r->family = KERNEL_READ(sk, __sk_common.skc_family);
	r->protocol = KERNEL_READ(sk, sk_protocol);
	r->netns = KERNEL_READ(sk, __sk_common.skc_net.net, net_cookie);
	if (ref.kind == FILE_KIND_unix)
		socket_unix_fill(r, sk);
	else
		socket_inet_fill(r, sk);
	if (ref.kind == FILE_KIND_tcp) {
		r->file.flags |= file_tcp_side(sk, r->family);
		r->peer = socket_tcp_peer(s, sk);
	}
	return __builtin_offsetof(struct record_socket, path) + r->path_len;
}

#endif
