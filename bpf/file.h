/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The file of a descriptor: its kind, key and device. The key of a socket is its inode number, as
 * in the name socket:[N] and in /proc/net/.
 */
#ifndef BPF_FILE_H
#define BPF_FILE_H

#include "bpf/kernel_versions.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define O_DIRECT_FLAG 040000

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_MPTCP 262
#define SOCKADDR_FAMILY_BYTES 2 /* bytes before the port, or before the path */

#define MAGIC_ANON 0x09041934
#define MAGIC_PIPE 0x50495045
#define MAGIC_NSFS 0x6e736673
#define MAGIC_PIDFS 0x50494446

/* The kind of a regular file, by the magic number of its file system. */
static __always_inline u16 file_kind_of_fs(u64 magic)
{
	switch ((u32)magic) {
	case 0x9fa0:	 /* proc */
	case 0x62656572: /* sysfs */
	case 0x27e0eb:	 /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0x64626720: /* debugfs */
	case 0x74726163: /* tracefs */
	case 0x73636673: /* securityfs */
	case 0xcafe4a11: /* bpf */
	case MAGIC_NSFS:
	case 0x42494e4d: /* binfmt_misc */
		return FILE_KIND_pseudo;
	case 0x6969:	 /* nfs */
	case 0xff534d42: /* cifs */
	case 0xfe534d42: /* smb2 */
	case 0x00c36400: /* ceph */
	case 0x01021997: /* 9p */
	case 0x5346414f: /* afs */
		return FILE_KIND_network_fs;
	case 0x01021994: /* tmpfs */
	case 0x858458f6: /* ramfs */
	case 0x958458f6: /* hugetlbfs */
		return FILE_KIND_memory_fs;
	}
	return FILE_KIND_regular;
}

/* The kind of an anonymous inode, by its name: "[eventfd]". */
static __always_inline u16 file_kind_of_anon(struct file *file)
{
	struct dentry *dentry = KERNEL_READ(file, f_path.dentry);
	const unsigned char *name = KERNEL_READ(dentry, d_name.name);
	u64 first = kernel_read_word((const void *)name);

#define FOUR(a, b, c, d) ((u64)(a) | (u64)(b) << 8 | (u64)(c) << 16 | (u64)(d) << 24)
	switch ((u32)(first >> 8)) {
	case FOUR('e', 'v', 'e', 'n'):
		return (u8)(first >> 40) == 't' && (u8)(first >> 48) == 'f' ? FILE_KIND_eventfd
									    : FILE_KIND_epoll;
	case FOUR('t', 'i', 'm', 'e'):
		return FILE_KIND_timerfd;
	case FOUR('s', 'i', 'g', 'n'):
		return FILE_KIND_signalfd;
	case FOUR('p', 'i', 'd', 'f'):
		return FILE_KIND_pidfd;
	case FOUR('i', 'o', '_', 'u'):
		return FILE_KIND_io_uring;
	case FOUR('f', 'a', 'n', 'o'):
		return FILE_KIND_fanotify;
	}
	/* the name of inotify has no brackets */
	return (u32)first == (u32)FOUR('i', 'n', 'o', 't') ? FILE_KIND_inotify
							   : FILE_KIND_anon_other;
}

static __always_inline u16 file_kind_of_device(u32 rdev)
{
	u32 major = rdev >> 20, minor = rdev & 0xfffff;

	if (major == 1 && minor != 1 && minor != 2 && minor <= 9)
		return FILE_KIND_null;
	if (major == 4 || major == 5 || (major >= 136 && major <= 143))
		return FILE_KIND_tty;
	return FILE_KIND_character;
}

static __always_inline void file_read_address(u64 to[2], struct in6_addr *from)
{
	to[0] = KERNEL_READ(from, in6_u.u6_addr32[0]) | (u64)KERNEL_READ(from, in6_u.u6_addr32[1])
								<< 32;
	to[1] = KERNEL_READ(from, in6_u.u6_addr32[2]) | (u64)KERNEL_READ(from, in6_u.u6_addr32[3])
								<< 32;
}

static __always_inline bool file_peer_on_host(struct sock *sk, u16 family)
{
	u64 daddr[2], saddr[2];
	u32 to;

	if (family == AF_INET) {
		to = KERNEL_READ(sk, __sk_common.skc_daddr);
		return to &&
		       ((to & 0xff) == 127 || to == KERNEL_READ(sk, __sk_common.skc_rcv_saddr));
	}
	file_read_address(daddr, &sk->__sk_common.skc_v6_daddr);
	file_read_address(saddr, &sk->__sk_common.skc_v6_rcv_saddr);
	if (!daddr[0] && !daddr[1])
		return false;
	if (!daddr[0] && (daddr[1] & 0xffffffffff) == 0x7fffff0000) /* ::ffff:127.x.x.x */
		return true;
	return daddr[0] == saddr[0] && daddr[1] == saddr[1];
}

#define SOCK_STREAM 1
#define SOCK_SEQPACKET 5
#define STATE_LISTEN 10 /* of TCP and of Unix sockets */

/* Whether a TCP connection was accepted: then it has the device of the first packet. */
static __always_inline bool file_tcp_accepted(struct sock *sk, u16 family)
{
	struct inet_sock *inet = (struct inet_sock *)sk;

	if (KERNEL_READ(inet, mc_index))
		return true;
	return family == AF_INET6 && KERNEL_READ(inet, pinet6, mcast_oif);
}

static __always_inline u16 file_tcp_side(struct sock *sk, u16 family)
{
	u8 state = KERNEL_READ(sk, __sk_common.skc_state);

	if (state == STATE_LISTEN)
		return FILE_LISTENS;
	if (file_tcp_accepted(sk, family))
		return FILE_ACCEPTED;
	/* skc_dport is 0 before it is connected */
	return KERNEL_READ(sk, __sk_common.skc_dport) ? FILE_MADE : 0;
}

static __always_inline u16 file_udp_side(struct sock *sk)
{
	if (KERNEL_READ(sk, __sk_common.skc_dport))
		return FILE_MADE;
	return sock_port_is_chosen(sk) ? FILE_LISTENS : FILE_MADE;
}

/*
 * An accepted Unix connection shares the address of the listener. The other end has no address, or
 * one of its own, to which nobody else refers.
 */
static __always_inline u16 file_unix_side(struct sock *sk)
{
	struct unix_sock *own = (struct unix_sock *)sk, *peer;
	struct unix_address *address = KERNEL_READ(own, addr), *other;
	u16 type = KERNEL_READ(sk, sk_type);

	if (KERNEL_READ(sk, __sk_common.skc_state) == STATE_LISTEN)
		return FILE_LISTENS;
	peer = (struct unix_sock *)KERNEL_READ(own, peer);
	if (!peer) /* a datagram socket with an address, or a connection that is over */
		return address ? FILE_LISTENS : 0;
	if (!address || (type != SOCK_STREAM && type != SOCK_SEQPACKET))
		return FILE_MADE;
	other = KERNEL_READ(peer, addr);
	if (other &&
	    KERNEL_READ(address, refcnt.refs.counter) <= KERNEL_READ(other, refcnt.refs.counter))
		return FILE_MADE;
	return FILE_ACCEPTED;
}

/* Which side of a connection a socket is; a function of its own, since stacks are deep where it is
 * asked. */
static __noinline __attribute__((unused)) u32 file_side(struct sock *sk, u32 family, u32 protocol)
{
	if (family == AF_UNIX)
		return file_unix_side(sk);
	if (protocol == IPPROTO_TCP)
		return file_tcp_side(sk, family);
	return protocol == IPPROTO_UDP ? file_udp_side(sk) : 0;
}

/* `sided`: with its side, which takes more stack. */
static __always_inline void file_fill_socket(struct file_ref *ref, struct sock *sk, bool sided)
{
	u16 family = KERNEL_READ(sk, __sk_common.skc_family);
	u16 protocol = KERNEL_READ(sk, sk_protocol);

	ref->dev = 0;
	ref->kind = FILE_KIND_socket_other;
	if (family == AF_UNIX) {
		ref->kind = FILE_KIND_unix;
		ref->flags |= FILE_PEER_ON_HOST | (sided ? file_side(sk, family, protocol) : 0);
	} else if (family == AF_NETLINK) {
		ref->kind = FILE_KIND_netlink;
	} else if (family == AF_INET || family == AF_INET6) {
		if (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP)
			ref->kind = FILE_KIND_tcp;
		else if (protocol == IPPROTO_UDP)
			ref->kind = FILE_KIND_udp;
		if (sided)
			ref->flags |= file_side(sk, family, protocol);
		if (file_peer_on_host(sk, family))
			ref->flags |= FILE_PEER_ON_HOST;
	}
}

/* Whether the file was deleted. A file that never had a name, like a memfd, is its own parent. */
static __always_inline bool file_is_deleted(struct dentry *dentry)
{
	return !KERNEL_READ(dentry, d_hash.pprev) && KERNEL_READ(dentry, d_parent) != dentry;
}

static __always_inline u16 file_kind_of_named(struct inode *inode, u16 type, u32 magic)
{
	switch (type) {
	case S_IFREG:
		return file_kind_of_fs(magic);
	case S_IFDIR:
		return FILE_KIND_directory;
	case S_IFIFO:
		return FILE_KIND_fifo;
	case S_IFBLK:
		return FILE_KIND_block;
	case S_IFCHR:
		return file_kind_of_device(KERNEL_READ(inode, i_rdev));
	}
	return FILE_KIND_other;
}

/* Fills a zeroed ref. Sockets come first, since most calls of a server use them. */
static __always_inline void file_fill_as(struct file_ref *ref, struct file *file, bool sided)
{
	struct inode *inode = KERNEL_READ(file, f_inode);
	u16 type = KERNEL_READ(inode, i_mode) & S_IFMT;
	struct super_block *sb;
	struct socket *socket;
	u32 magic;

	ref->key = KERNEL_READ(inode, i_ino);
	if (type == S_IFSOCK) {
		socket = KERNEL_READ(file, private_data);
		file_fill_socket(ref, KERNEL_READ(socket, sk), sided);
		return;
	}
	sb = KERNEL_READ(inode, i_sb);
	magic = KERNEL_READ(sb, s_magic);
	ref->dev = KERNEL_READ(sb, s_dev);
	if (KERNEL_READ(file, f_flags) & O_DIRECT_FLAG)
		ref->flags |= FILE_DIRECT;
	if (magic == MAGIC_ANON) {
		ref->kind = file_kind_of_anon(file);
	} else if (magic == MAGIC_PIDFS) {
		ref->kind = FILE_KIND_pidfd;
	} else if (magic == MAGIC_PIPE) {
		ref->kind = FILE_KIND_pipe;
	} else {
		ref->kind = file_kind_of_named(inode, type, magic);
		if (file_is_deleted(KERNEL_READ(file, f_path.dentry)))
			ref->flags |= FILE_DELETED;
	}
}

static __always_inline void file_fill(struct file_ref *ref, struct file *file)
{
	file_fill_as(ref, file, true);
}

/* The file of a task's descriptor, NULL if it is not open. */
static __always_inline struct file *file_of_fd(struct task_struct *task, u32 fd)
{
	struct fdtable *table = KERNEL_READ(task, files, fdt);
	struct file **files = KERNEL_READ(table, fd);

	if (!table || fd >= KERNEL_READ(table, max_fds))
		return NULL;
	return kernel_read_pointer(files + fd);
}

/* Fills in the file of a task's descriptor, or zeros if it is not open. */
static __always_inline void file_of_task(struct file_ref *ref, struct task_struct *task, u32 fd)
{
	struct file *file = file_of_fd(task, fd);

	__builtin_memset(ref, 0, sizeof(*ref));
	if (file)
		file_fill(ref, file);
}

#endif
