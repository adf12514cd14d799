/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The two addresses of a socket, put into a socket record.
 */
#ifndef BPF_SOCKET_H
#define BPF_SOCKET_H

#include "bpf/file.h"

#include <bpf/bpf_endian.h>

#define SOCKET_BYTES 256	    /* what a socket record takes: whole slots */
#define MAPPED_PREFIX 0xffff0000ull /* ::ffff:a.b.c.d, bytes 8 to 11, little endian */
#define SOCKADDR_FAMILY_BYTES 2

static __always_inline void socket_inet_fill(struct record_socket *r, struct sock *sk)
{
	u64 pair[2];

	if (r->family == AF_INET) {
		r->local_lo = MAPPED_PREFIX | (u64)BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr)
						      << 32;
		r->remote_lo = MAPPED_PREFIX | (u64)BPF_CORE_READ(sk, __sk_common.skc_daddr) << 32;
	} else {
		BPF_CORE_READ_INTO(&pair, sk, __sk_common.skc_v6_rcv_saddr);
		r->local_hi = pair[0];
		r->local_lo = pair[1];
		BPF_CORE_READ_INTO(&pair, sk, __sk_common.skc_v6_daddr);
		r->remote_hi = pair[0];
		r->remote_lo = pair[1];
	}
	r->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	r->remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
}

/* The address of a Unix socket; one that only connected has none, its peer's is told. */
static __always_inline void socket_unix_fill(struct record_socket *r, struct sock *sk)
{
	struct unix_sock *own = (void *)sk;
	struct sock *peer = BPF_CORE_READ(own, peer);
	struct unix_address *address = BPF_CORE_READ(own, addr);
	struct socket *socket = BPF_CORE_READ(peer, sk_socket);
	char *name;
	int len;
	u64 n;

	if (socket)
		r->peer = BPF_CORE_READ((struct socket_alloc *)socket, vfs_inode.i_ino);
	if (!address)
		address = BPF_CORE_READ((struct unix_sock *)peer, addr);
	len = BPF_CORE_READ(address, len);
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
		r->path[0] = '@'; /* abstract */
	else if (r->path[(n - 1) & 127] == '\0')
		r->path_len = n - 1;
}

/*
 * Fills all of SOCKET_BYTES at `r` but the time. Returns how many bytes count,
 * 0 if the file is no socket that has addresses.
 */
static __always_inline u64 socket_fill(struct record_socket *r, struct task_struct *task,
				       struct file *file)
{
	struct file_ref ref = {};
	struct socket *socket;
	struct sock *sk;

	file_fill(&ref, file);
	if (ref.kind != FILE_KIND_tcp && ref.kind != FILE_KIND_udp && ref.kind != FILE_KIND_unix)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	__builtin_memset(r, 0, SOCKET_BYTES);
	r->head.kind = RECORD_socket;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->file = ref;
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (ref.kind == FILE_KIND_unix)
		socket_unix_fill(r, sk);
	else
		socket_inet_fill(r, sk);
	return __builtin_offsetof(struct record_socket, path) + r->path_len;
}

#endif
