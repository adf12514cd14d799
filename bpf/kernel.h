/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The few kernel types that the programs read, and of these the few fields.
 *
 * Offsets are relocated when the programs are loaded (CO-RE), so order and
 * what is left out do not matter. What stands here is there on each kernel that
 * fathom supports; what differs between them is in bpf/kernel_versions.h alone.
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#ifndef __BPF__
#define __BPF__ 1
#endif

#include "record/record.h"

/* Types that bpf_helper_defs.h needs. */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE 1024
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_PROD_POS 3

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Steps of a CPU's coming and going; the numbers are those of the running kernel. */
enum cpuhp_state {
	CPUHP_AP_PERF_ONLINE = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long bp, bx, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, flags, r11, cs, sp;
};

struct thread_info {
	u32 status;
};

struct thread_struct {
	unsigned long fsbase;
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

/* Also wherever a number lies alone. */
struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct rb_node;

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct address_space {
	struct rb_root_cached i_mmap; /* mappings of the file */
};

struct inode {
	u16 i_mode;
	struct address_space *i_mapping;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_rdev;
	s64 i_size;
	void *i_private;
};

struct proc_ns_operations {
	char *name;
};

struct ns_common {
	struct proc_ns_operations *ops;
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	void *private_data;
	struct inode *f_inode;
	u32 f_flags;
	struct path f_path;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
	unsigned long *close_on_exec;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct in6_addr {
	union {
		u8 u6_addr8[16];
		u32 u6_addr32[4];
	} in6_u;
};

/* Wherever a pointer lies alone. */
struct list_head {
	struct list_head *next;
};

struct net {
	u64 net_cookie;
};

struct sock_common {
	struct {
		struct net *net;
	} skc_net;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	struct proto *skc_prot;
};

struct socket;

struct sk_buff {
	unsigned char *head;
	u16 transport_header;
};

struct sk_buff_head {
	struct sk_buff *prev;
	u32 qlen;
};

struct wait_queue_head {
	struct list_head head;
};

struct wait_queue_entry {
	struct list_head entry;
};

struct socket_wq {
	struct wait_queue_head wait;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
	u16 sk_protocol;
	u8 sk_userlocks;
	u32 sk_max_ack_backlog;
	struct sk_buff_head sk_receive_queue;
	struct socket *sk_socket;
	struct socket_wq *sk_wq;
};

/* Options for multicast; an accepted connection has the device of its first packet there. */
struct ipv6_pinfo {
	int mcast_oif;
};

struct inet_sock {
	u16 inet_sport;
	int mc_index;
	struct ipv6_pinfo *pinet6;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct inet_connection_sock {
	void *icsk_ulp_ops;
};

struct tcp_sock {
	u32 data_segs_out;
	struct inet_connection_sock inet_conn;
	u32 write_seq, snd_una, snd_nxt;
	u64 bytes_acked, bytes_sent, bytes_retrans;
	u32 copied_seq, rcv_nxt;
	u64 bytes_received;
};

struct iov_iter {
	unsigned long count;
};

struct msghdr {
	struct iov_iter msg_iter;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sockaddr_un {
	u16 sun_family;
	char sun_path[108];
};

struct refcount_struct {
	struct {
		int counter;
	} refs;
};

struct unix_address {
	struct refcount_struct refcnt;
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct epoll_filefd {
	struct file *file;
	int fd;
} __attribute__((packed));

struct eventpoll;

struct epitem {
	struct list_head rdllink;
	struct epoll_filefd ffd;
	struct eventpoll *ep;
};

/* How an epoll waits for a file. */
struct eppoll_entry {
	struct epitem *base;
	struct wait_queue_entry wait;
};

struct eventpoll {
	struct list_head rdllist; /* of files that are ready */
};

struct mm_context {
	void *vdso; /* code of the kernel that programs call */
};

struct mm_struct {
	void *pgd;
	unsigned long arg_start, arg_end;
	struct mm_context context;
};

struct kernfs_node {
	u64 id;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
};

struct cgroup_root {
	u32 subsys_mask;
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[12];
	struct cgroup *dfl_cgrp;
};

struct cfs_rq;

struct rq {
	int cpu;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct signal_struct {
	int nr_threads;
	struct {
		int counter;
	} live;
	unsigned int flags;
	struct pid *pids[4];
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct cred {
	struct {
		u32 val;
	} uid;
};

struct upid {
	int nr;
	void *ns;
};

struct pid {
	u32 level; /* of pid namespaces; 0: only the initial one */
	struct upid numbers[1];
};

struct mutex {
	struct {
		long counter; /* its holder, with flags in the lowest bits */
	} owner;
};

struct restart_block {
	void *fn; /* that goes on with a call which a signal broke off */
};

struct seccomp {
	int mode; /* 0: none */
	struct seccomp_filter *filter;
};

struct task_struct {
	struct thread_info thread_info;
	u32 __state;
	u32 flags;
	unsigned int ptrace; /* 0: nobody traces it */
	int pagefault_disabled;
	int on_cpu;
	int on_rq;
	int prio;
	struct sched_entity se;
	struct mm_struct *mm;
	struct nsproxy *nsproxy;
	int exit_code;
	unsigned long jobctl;
	struct restart_block restart_block;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned long nvcsw, nivcsw;
	u64 start_time;
	u32 self_exec_id;
	const struct cred *real_cred;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	struct css_set *cgroups;
	void *worker_private;
	struct seccomp seccomp;
	struct thread_struct thread;
};

struct linux_binprm {
	struct file *file;
	const char *filename;
};

struct seq_file {
	u64 index;
};

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_SIGNALED 0x00000400 /* a signal ends it */
#define TS_COMPAT 2
#define SIGNAL_UNKILLABLE 0x40 /* the first process of a pid namespace */
#define PIDTYPE_SID 3
#define CLONE_VM 0x100
#define CLONE_PIDFD 0x1000
#define CLONE_VFORK 0x4000
#define CLONE_FILES 0x400
#define CLONE_THREAD 0x10000
#define CLONE_SETTLS 0x80000
#define X32_BIT 0x40000000

/* Bounds an index in assembly, lest the compiler drop what the verifier wants to see. */
#define BOUND(index, mask) __asm__ volatile("%0 &= " #mask : "+r"(index))

/*
 * The number, of which the verifier forgets what it knows. It then looks once at what follows, and
 * not once for each value. `unknown` is any number that it does not know: with itself it is 0.
 */
#define FORGET(number, unknown)                                                                    \
	({                                                                                         \
		u64 number_ = (number), zero_ = (unknown);                                         \
		__asm__ volatile("%1 ^= %1\n%0 ^= %1" : "+r"(number_), "+r"(zero_));               \
		(typeof(number))number_;                                                           \
	})

#endif
