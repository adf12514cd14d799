/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The system calls that make, copy or close descriptors. */
#ifndef BPF_FD_H
#define BPF_FD_H

#include "bpf/kernel.h"
#include "record/syscalls.h"

#define FD_CALL_RESULT 1 /* returns a new descriptor */
#define FD_CALL_DUP 2	 /* returns a copy of its first argument */
#define FD_CALL_PAIR 3	 /* writes two to its first argument */
#define FD_CALL_PAIR4 4	 /* to its fourth */
#define FD_CALL_RANGE 5
#define FD_CALL_CONTROL 6
#define FD_CALL_UNSHARE 7
#define FD_CALL_CLOSE 8
#define FD_CALL_ACCEPT 9 /* returns one that may be a connection */
#define FD_CALL_CONNECT 10
#define FD_CALL_MASK 255
#define FD_CALL_COMPAT 256 /* flag: of a 32-bit program, whose structs have another layout */
#define FD_CALL_BPF 13	   /* makes one with some commands */
#define FD_CALL_IOCTL 14   /* makes one with some requests */
#define FD_CALL_RIGHTS 11  /* receives a message, which may bring some */
#define FD_CALL_RIGHTS_MANY 12
#define FD_CALL_SEND 15	   /* may connect its socket, with the flags in its third argument */
#define FD_CALL_SEND4 16   /* likewise, with the flags in its fourth argument */
#define FD_CALL_SECCOMP 17 /* makes one with a flag */
#define FD_CALL_CLONE 18   /* with a flag it writes one to its third argument */
#define FD_CALL_CLONE3 19  /* likewise; flag and address are where its first argument points */
#define FD_CALL_OPTION 20  /* an option of sockets is a descriptor, written to the fourth */

#define FD_SEND_CONNECTS 0x20000000 /* MSG_FASTOPEN */
#define FD_OPTION_LEVEL 1	    /* SOL_SOCKET */
#define FD_OPTION 77		    /* SO_PEERPIDFD */

#define FD_CALL(name, class) [SYSCALL_NR_##name] = class
#define FD_CALLS_INIT                                                                              \
	{                                                                                          \
		FD_CALL(open, 1), FD_CALL(openat, 1), FD_CALL(openat2, 1), FD_CALL(creat, 1),      \
			FD_CALL(socket, 1), FD_CALL(accept, 9), FD_CALL(accept4, 9),               \
			FD_CALL(epoll_create, 1), FD_CALL(epoll_create1, 1), FD_CALL(eventfd, 1),  \
			FD_CALL(eventfd2, 1), FD_CALL(timerfd_create, 1), FD_CALL(signalfd, 1),    \
			FD_CALL(signalfd4, 1), FD_CALL(inotify_init, 1),                           \
			FD_CALL(inotify_init1, 1), FD_CALL(memfd_create, 1),                       \
			FD_CALL(memfd_secret, 1), FD_CALL(pidfd_open, 1), FD_CALL(pidfd_getfd, 9), \
			FD_CALL(io_uring_setup, 1), FD_CALL(userfaultfd, 1),                       \
			FD_CALL(perf_event_open, 1), FD_CALL(fanotify_init, 1),                    \
			FD_CALL(open_tree, 1), FD_CALL(mq_open, 1), FD_CALL(open_by_handle_at, 1), \
			FD_CALL(dup, 2), FD_CALL(dup2, 2), FD_CALL(dup3, 2), FD_CALL(pipe, 3),     \
			FD_CALL(pipe2, 3), FD_CALL(socketpair, 4), FD_CALL(close_range, 5),        \
			FD_CALL(fcntl, 6), FD_CALL(unshare, 7), FD_CALL(close, 8),                 \
			FD_CALL(connect, 10), FD_CALL(recvmsg, 11), FD_CALL(recvmmsg, 12),         \
			FD_CALL(bpf, 13), FD_CALL(ioctl, 14), FD_CALL(fsopen, 1),                  \
			FD_CALL(fsmount, 1), FD_CALL(fspick, 1),                                   \
			FD_CALL(landlock_create_ruleset, 1), FD_CALL(sendmsg, 15),                 \
			FD_CALL(sendto, 16), FD_CALL(sendmmsg, 16), FD_CALL(seccomp, 17),          \
			FD_CALL(open_tree_attr, 1), FD_CALL(clone, 18), FD_CALL(clone3, 19),       \
			FD_CALL(getsockopt, 20)                                                    \
	}

/*
 * Descriptors that got another file since recording began, by process. A call that was open then,
 * and is first known at its end, was not on the file that its descriptor has now. Descriptors that
 * share a place all count as such. After the snapshot, only threads that come into scope later ask.
 */
#define FDS_RENEWED 4096

u8 fds_renewed[FDS_RENEWED] __weak = {};

static __always_inline u8 *fd_place(const struct task_struct *task, u32 fd)
{
	return &fds_renewed[((u32)task->tgid * 31 + fd) % FDS_RENEWED];
}

static __always_inline void fd_renewed(const struct task_struct *task, u32 fd)
{
	u8 *place = fd_place(task, fd);

	if (!*place)
		*place = 1;
}

static __always_inline bool fd_is_new(const struct task_struct *task, u32 fd)
{
	return *fd_place(task, fd);
}

/* fd.bpf.c */
int fd_name(u32 fd, s32 from, u8 op);
int fd_socket(u32 fd);
int fd_closes(u32 fd);
int fd_after(u32 class, u64 arg0, u64 arg1, u64 arg2, long result);

#endif
