/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The requests of io_uring: numbers, names, and what each does with file
 * descriptors. Included by kernel programs and user space alike.
 *
 * U(nr, name, fd): fd is one of URING_FD_*.
 */
#ifndef RECORD_URING_H
#define RECORD_URING_H

#define URING_OPS 64 /* numbers from here on have no row */

#define URING_FD_NONE 0
#define URING_FD_USES 1	  /* uses a descriptor, or a slot of the ring's own table */
#define URING_FD_OPENS 2  /* its result is a new descriptor, unless it goes into a slot */
#define URING_FD_BOTH 3	  /* uses a descriptor, and its result is another */
#define URING_FD_CLOSES 4 /* has the descriptor to close in its own arguments */

#define RECORD_URING_OPS(U)                                                                        \
	U(0, nop, URING_FD_NONE)                                                                   \
	U(1, readv, URING_FD_USES)                                                                 \
	U(2, writev, URING_FD_USES)                                                                \
	U(3, fsync, URING_FD_USES)                                                                 \
	U(4, read_fixed, URING_FD_USES)                                                            \
	U(5, write_fixed, URING_FD_USES)                                                           \
	U(6, poll_add, URING_FD_USES)                                                              \
	U(7, poll_remove, URING_FD_NONE)                                                           \
	U(8, sync_file_range, URING_FD_USES)                                                       \
	U(9, sendmsg, URING_FD_USES)                                                               \
	U(10, recvmsg, URING_FD_USES)                                                              \
	U(11, timeout, URING_FD_NONE)                                                              \
	U(12, timeout_remove, URING_FD_NONE)                                                       \
	U(13, accept, URING_FD_BOTH)                                                               \
	U(14, async_cancel, URING_FD_NONE)                                                         \
	U(15, link_timeout, URING_FD_NONE)                                                         \
	U(16, connect, URING_FD_USES)                                                              \
	U(17, fallocate, URING_FD_USES)                                                            \
	U(18, openat, URING_FD_OPENS)                                                              \
	U(19, close, URING_FD_CLOSES)                                                              \
	U(20, files_update, URING_FD_NONE)                                                         \
	U(21, statx, URING_FD_NONE)                                                                \
	U(22, read, URING_FD_USES)                                                                 \
	U(23, write, URING_FD_USES)                                                                \
	U(24, fadvise, URING_FD_USES)                                                              \
	U(25, madvise, URING_FD_NONE)                                                              \
	U(26, send, URING_FD_USES)                                                                 \
	U(27, recv, URING_FD_USES)                                                                 \
	U(28, openat2, URING_FD_OPENS)                                                             \
	U(29, epoll_ctl, URING_FD_NONE)                                                            \
	U(30, splice, URING_FD_USES)                                                               \
	U(31, provide_buffers, URING_FD_NONE)                                                      \
	U(32, remove_buffers, URING_FD_NONE)                                                       \
	U(33, tee, URING_FD_USES)                                                                  \
	U(34, shutdown, URING_FD_USES)                                                             \
	U(35, renameat, URING_FD_NONE)                                                             \
	U(36, unlinkat, URING_FD_NONE)                                                             \
	U(37, mkdirat, URING_FD_NONE)                                                              \
	U(38, symlinkat, URING_FD_NONE)                                                            \
	U(39, linkat, URING_FD_NONE)                                                               \
	U(40, msg_ring, URING_FD_USES)                                                             \
	U(41, fsetxattr, URING_FD_USES)                                                            \
	U(42, setxattr, URING_FD_NONE)                                                             \
	U(43, fgetxattr, URING_FD_USES)                                                            \
	U(44, getxattr, URING_FD_NONE)                                                             \
	U(45, socket, URING_FD_OPENS)                                                              \
	U(46, uring_cmd, URING_FD_USES)                                                            \
	U(47, send_zc, URING_FD_USES)                                                              \
	U(48, sendmsg_zc, URING_FD_USES)                                                           \
	U(49, read_multishot, URING_FD_USES)                                                       \
	U(50, waitid, URING_FD_NONE)                                                               \
	U(51, futex_wait, URING_FD_NONE)                                                           \
	U(52, futex_wake, URING_FD_NONE)                                                           \
	U(53, futex_waitv, URING_FD_NONE)                                                          \
	U(54, fixed_fd_install, URING_FD_BOTH)                                                     \
	U(55, ftruncate, URING_FD_USES)                                                            \
	U(56, bind, URING_FD_USES)                                                                 \
	U(57, listen, URING_FD_USES)                                                               \
	U(58, recv_zc, URING_FD_USES)                                                              \
	U(59, epoll_wait, URING_FD_USES)                                                           \
	U(60, readv_fixed, URING_FD_USES)                                                          \
	U(61, writev_fixed, URING_FD_USES)                                                         \
	U(62, pipe, URING_FD_NONE)

#endif
