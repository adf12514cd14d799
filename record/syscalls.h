/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The system calls of x86-64: numbers, names, arguments, classes.
 *
 * Included by kernel programs and user space alike; includes nothing. From
 * the one list RECORD_SYSCALLS come the tables by which kernel programs know
 * how many arguments to record and which of them is the fd that the call
 * works on, the names, the classes of --syscalls, and the decoding of
 * arguments (src/model/syscall_format.c).
 *
 * S(nr, name, arguments, fd, classes, (kind of each argument))
 *   fd       which argument, counted from 1, is the fd that the call works
 *            on or whose directory its path starts from; 0: none. Its kind is
 *            `fd` in the first case and `dirfd` in the second.
 *   classes  those of strace -e trace=%class: SC_* below
 *   kinds    words that syscall_format.c explains, one row each
 */
#ifndef RECORD_SYSCALLS_H
#define RECORD_SYSCALLS_H

#define SYSCALL_TABLE_SIZE 512 /* numbers from here on have no row */

/* V(class, bit): the name that follows % on the command line */
#define SYSCALL_CLASSES(V)                                                                         \
	V(file, 1)                                                                                 \
	V(desc, 2)                                                                                 \
	V(network, 4)                                                                              \
	V(process, 8)                                                                              \
	V(memory, 16)                                                                              \
	V(ipc, 32)                                                                                 \
	V(signal, 64)
#define SC_FILE 1
#define SC_DESC 2
#define SC_NETWORK 4
#define SC_PROCESS 8
#define SC_MEMORY 16
#define SC_IPC 32
#define SC_SIGNAL 64

/* clang-format off */
#define RECORD_SYSCALLS(S)                                                                         \
	S(0, read, 3, 1, SC_DESC, (fd, address, size))                                             \
	S(1, write, 3, 1, SC_DESC, (fd, address, size))                                            \
	S(2, open, 3, 0, SC_DESC | SC_FILE, (path, open_flags, mode))                              \
	S(3, close, 1, 1, SC_DESC, (fd))                                                           \
	S(4, stat, 2, 0, SC_FILE, (path, address))                                                 \
	S(5, fstat, 2, 1, SC_DESC, (fd, address))                                                  \
	S(6, lstat, 2, 0, SC_FILE, (path, address))                                                \
	S(7, poll, 3, 0, SC_DESC, (address, uint, int))                                            \
	S(8, lseek, 3, 1, SC_DESC, (fd, offset, whence))                                           \
	S(9, mmap, 6, 5, SC_DESC | SC_MEMORY,                                                      \
		(address, size, mmap_prot, mmap_flags, fd, map_offset))                            \
	S(10, mprotect, 3, 0, SC_MEMORY, (address, size, mmap_prot))                               \
	S(11, munmap, 2, 0, SC_MEMORY, (address, size))                                            \
	S(12, brk, 1, 0, SC_MEMORY, (address))                                                     \
	S(13, rt_sigaction, 4, 0, SC_SIGNAL, (signal, address, address, size))                     \
	S(14, rt_sigprocmask, 4, 0, SC_SIGNAL, (sigmask_how, address, address, size))              \
	S(15, rt_sigreturn, 0, 0, SC_SIGNAL, ())                                                   \
	S(16, ioctl, 3, 1, SC_DESC, (fd, ioctl_request, ioctl_argument))                           \
	S(17, pread64, 4, 1, SC_DESC, (fd, address, size, offset))                                 \
	S(18, pwrite64, 4, 1, SC_DESC, (fd, address, size, offset))                                \
	S(19, readv, 3, 1, SC_DESC, (fd, address, ulong))                                          \
	S(20, writev, 3, 1, SC_DESC, (fd, address, ulong))                                         \
	S(21, access, 2, 0, SC_FILE, (path, access_mode))                                          \
	S(22, pipe, 1, 0, SC_DESC, (address))                                                      \
	S(23, select, 5, 0, SC_DESC, (int, address, address, address, address))                    \
	S(24, sched_yield, 0, 0, 0, ())                                                            \
	S(25, mremap, 5, 0, SC_MEMORY, (address, size, size, mremap_flags, address))               \
	S(26, msync, 3, 0, SC_MEMORY, (address, size, msync_flags))                                \
	S(27, mincore, 3, 0, SC_MEMORY, (address, size, address))                                  \
	S(28, madvise, 3, 0, SC_MEMORY, (address, size, madvise_advice))                           \
	S(29, shmget, 3, 0, SC_IPC, (ipc_key, size, shm_get_flags))                                \
	S(30, shmat, 3, 0, SC_IPC | SC_MEMORY, (int, address, shm_at_flags))                       \
	S(31, shmctl, 3, 0, SC_IPC, (int, shm_command, address))                                   \
	S(32, dup, 1, 1, SC_DESC, (fd))                                                            \
	S(33, dup2, 2, 1, SC_DESC, (fd, fd))                                                       \
	S(34, pause, 0, 0, SC_SIGNAL, ())                                                          \
	S(35, nanosleep, 2, 0, 0, (address, address))                                              \
	S(36, getitimer, 2, 0, 0, (itimer, address))                                               \
	S(37, alarm, 1, 0, 0, (uint))                                                              \
	S(38, setitimer, 3, 0, 0, (itimer, address, address))                                      \
	S(39, getpid, 0, 0, 0, ())                                                                 \
	S(40, sendfile, 4, 1, SC_DESC | SC_NETWORK, (fd, fd, address, size))                       \
	S(41, socket, 3, 0, SC_NETWORK, (socket_family, socket_type, socket_protocol))             \
	S(42, connect, 3, 1, SC_NETWORK, (fd, address, int))                                       \
	S(43, accept, 3, 1, SC_NETWORK, (fd, address, address))                                    \
	S(44, sendto, 6, 1, SC_NETWORK, (fd, address, size, message_flags, address, int))          \
	S(45, recvfrom, 6, 1, SC_NETWORK, (fd, address, size, message_flags, address, address))    \
	S(46, sendmsg, 3, 1, SC_NETWORK, (fd, address, message_flags))                             \
	S(47, recvmsg, 3, 1, SC_NETWORK, (fd, address, message_flags))                             \
	S(48, shutdown, 2, 1, SC_NETWORK, (fd, shutdown_how))                                      \
	S(49, bind, 3, 1, SC_NETWORK, (fd, address, int))                                          \
	S(50, listen, 2, 1, SC_NETWORK, (fd, int))                                                 \
	S(51, getsockname, 3, 1, SC_NETWORK, (fd, address, address))                               \
	S(52, getpeername, 3, 1, SC_NETWORK, (fd, address, address))                               \
	S(53, socketpair, 4, 0, SC_NETWORK,                                                        \
		(socket_family, socket_type, socket_protocol, address))                            \
	S(54, setsockopt, 5, 1, SC_NETWORK, (fd, socket_level, socket_option, address, int))       \
	S(55, getsockopt, 5, 1, SC_NETWORK, (fd, socket_level, socket_option, address, address))   \
	S(56, clone, 5, 0, SC_PROCESS, (clone_flags, address, address, address, lhex))             \
	S(57, fork, 0, 0, SC_PROCESS, ())                                                          \
	S(58, vfork, 0, 0, SC_PROCESS, ())                                                         \
	S(59, execve, 3, 0, SC_FILE | SC_PROCESS, (path, address, address))                        \
	S(60, exit, 1, 0, SC_PROCESS, (int))                                                       \
	S(61, wait4, 4, 0, SC_PROCESS, (pid, address, wait_flags, address))                        \
	S(62, kill, 2, 0, SC_SIGNAL | SC_PROCESS, (pid, signal))                                   \
	S(63, uname, 1, 0, 0, (address))                                                           \
	S(64, semget, 3, 0, SC_IPC, (ipc_key, int, sem_get_flags))                                 \
	S(65, semop, 3, 0, SC_IPC, (int, address, uint))                                           \
	S(66, semctl, 4, 0, SC_IPC, (int, int, sem_command, lhex))                                 \
	S(67, shmdt, 1, 0, SC_IPC | SC_MEMORY, (address))                                          \
	S(68, msgget, 2, 0, SC_IPC, (ipc_key, msg_get_flags))                                      \
	S(69, msgsnd, 4, 0, SC_IPC, (int, address, size, msg_flags))                               \
	S(70, msgrcv, 5, 0, SC_IPC, (int, address, size, long, msg_flags))                         \
	S(71, msgctl, 3, 0, SC_IPC, (int, msg_command, address))                                   \
	S(72, fcntl, 3, 1, SC_DESC, (fd, fcntl_command, fcntl_argument))                           \
	S(73, flock, 2, 1, SC_DESC, (fd, flock_operation))                                         \
	S(74, fsync, 1, 1, SC_DESC, (fd))                                                          \
	S(75, fdatasync, 1, 1, SC_DESC, (fd))                                                      \
	S(76, truncate, 2, 0, SC_FILE, (path, ulong))                                              \
	S(77, ftruncate, 2, 1, SC_DESC, (fd, ulong))                                               \
	S(78, getdents, 3, 1, SC_DESC, (fd, address, uint))                                        \
	S(79, getcwd, 2, 0, SC_FILE, (address, size))                                              \
	S(80, chdir, 1, 0, SC_FILE, (path))                                                        \
	S(81, fchdir, 1, 1, SC_DESC, (fd))                                                         \
	S(82, rename, 2, 0, SC_FILE, (path, path))                                                 \
	S(83, mkdir, 2, 0, SC_FILE, (path, mode))                                                  \
	S(84, rmdir, 1, 0, SC_FILE, (path))                                                        \
	S(85, creat, 2, 0, SC_DESC | SC_FILE, (path, mode))                                        \
	S(86, link, 2, 0, SC_FILE, (path, path))                                                   \
	S(87, unlink, 1, 0, SC_FILE, (path))                                                       \
	S(88, symlink, 2, 0, SC_FILE, (path, path))                                                \
	S(89, readlink, 3, 0, SC_FILE, (path, address, size))                                      \
	S(90, chmod, 2, 0, SC_FILE, (path, mode))                                                  \
	S(91, fchmod, 2, 1, SC_DESC, (fd, mode))                                                   \
	S(92, chown, 3, 0, SC_FILE, (path, uid, uid))                                              \
	S(93, fchown, 3, 1, SC_DESC, (fd, uid, uid))                                               \
	S(94, lchown, 3, 0, SC_FILE, (path, uid, uid))                                             \
	S(95, umask, 1, 0, 0, (mode))                                                              \
	S(96, gettimeofday, 2, 0, 0, (address, address))                                           \
	S(97, getrlimit, 2, 0, 0, (rlimit_resource, address))                                      \
	S(98, getrusage, 2, 0, 0, (rusage_who, address))                                           \
	S(99, sysinfo, 1, 0, 0, (address))                                                         \
	S(100, times, 1, 0, 0, (address))                                                          \
	S(101, ptrace, 4, 0, 0, (ptrace_request, pid, lhex, lhex))                                 \
	S(102, getuid, 0, 0, 0, ())                                                                \
	S(103, syslog, 3, 0, 0, (syslog_action, address, int))                                     \
	S(104, getgid, 0, 0, 0, ())                                                                \
	S(105, setuid, 1, 0, 0, (uid))                                                             \
	S(106, setgid, 1, 0, 0, (uid))                                                             \
	S(107, geteuid, 0, 0, 0, ())                                                               \
	S(108, getegid, 0, 0, 0, ())                                                               \
	S(109, setpgid, 2, 0, 0, (pid, pid))                                                       \
	S(110, getppid, 0, 0, 0, ())                                                               \
	S(111, getpgrp, 0, 0, 0, ())                                                               \
	S(112, setsid, 0, 0, 0, ())                                                                \
	S(113, setreuid, 2, 0, 0, (uid, uid))                                                      \
	S(114, setregid, 2, 0, 0, (uid, uid))                                                      \
	S(115, getgroups, 2, 0, 0, (int, address))                                                 \
	S(116, setgroups, 2, 0, 0, (int, address))                                                 \
	S(117, setresuid, 3, 0, 0, (uid, uid, uid))                                                \
	S(118, getresuid, 3, 0, 0, (address, address, address))                                    \
	S(119, setresgid, 3, 0, 0, (uid, uid, uid))                                                \
	S(120, getresgid, 3, 0, 0, (address, address, address))                                    \
	S(121, getpgid, 1, 0, 0, (pid))                                                            \
	S(122, setfsuid, 1, 0, 0, (uid))                                                           \
	S(123, setfsgid, 1, 0, 0, (uid))                                                           \
	S(124, getsid, 1, 0, 0, (pid))                                                             \
	S(125, capget, 2, 0, 0, (address, address))                                                \
	S(126, capset, 2, 0, 0, (address, address))                                                \
	S(127, rt_sigpending, 2, 0, SC_SIGNAL, (address, size))                                    \
	S(128, rt_sigtimedwait, 4, 0, SC_SIGNAL, (address, address, address, size))                \
	S(129, rt_sigqueueinfo, 3, 0, SC_SIGNAL | SC_PROCESS, (pid, signal, address))              \
	S(130, rt_sigsuspend, 2, 0, SC_SIGNAL, (address, size))                                    \
	S(131, sigaltstack, 2, 0, SC_SIGNAL, (address, address))                                   \
	S(132, utime, 2, 0, SC_FILE, (path, address))                                              \
	S(133, mknod, 3, 0, SC_FILE, (path, node_mode, device))                                    \
	S(134, uselib, 1, 0, SC_FILE, (path))                                                      \
	S(135, personality, 1, 0, 0, (personality))                                                \
	S(136, ustat, 2, 0, 0, (device, address))                                                  \
	S(137, statfs, 2, 0, SC_FILE, (path, address))                                             \
	S(138, fstatfs, 2, 1, SC_DESC, (fd, address))                                              \
	S(139, sysfs, 3, 0, 0, (lhex, lhex, lhex))                                                 \
	S(140, getpriority, 2, 0, 0, (priority_which, pid))                                        \
	S(141, setpriority, 3, 0, 0, (priority_which, pid, int))                                   \
	S(142, sched_setparam, 2, 0, 0, (pid, address))                                            \
	S(143, sched_getparam, 2, 0, 0, (pid, address))                                            \
	S(144, sched_setscheduler, 3, 0, 0, (pid, scheduler_policy, address))                      \
	S(145, sched_getscheduler, 1, 0, 0, (pid))                                                 \
	S(146, sched_get_priority_max, 1, 0, 0, (scheduler_policy))                                \
	S(147, sched_get_priority_min, 1, 0, 0, (scheduler_policy))                                \
	S(148, sched_rr_get_interval, 2, 0, 0, (pid, address))                                     \
	S(149, mlock, 2, 0, SC_MEMORY, (address, size))                                            \
	S(150, munlock, 2, 0, SC_MEMORY, (address, size))                                          \
	S(151, mlockall, 1, 0, SC_MEMORY, (mlockall_flags))                                        \
	S(152, munlockall, 0, 0, SC_MEMORY, ())                                                    \
	S(153, vhangup, 0, 0, 0, ())                                                               \
	S(154, modify_ldt, 3, 0, 0, (int, address, ulong))                                         \
	S(155, pivot_root, 2, 0, SC_FILE, (path, path))                                            \
	S(156, _sysctl, 1, 0, 0, (address))                                                        \
	S(157, prctl, 5, 0, 0, (prctl_option, prctl_argument, prctl_argument, lhex, lhex))         \
	S(158, arch_prctl, 2, 0, 0, (arch_prctl_code, address))                                    \
	S(159, adjtimex, 1, 0, 0, (address))                                                       \
	S(160, setrlimit, 2, 0, 0, (rlimit_resource, address))                                     \
	S(161, chroot, 1, 0, SC_FILE, (path))                                                      \
	S(162, sync, 0, 0, 0, ())                                                                  \
	S(163, acct, 1, 0, SC_FILE, (path))                                                        \
	S(164, settimeofday, 2, 0, 0, (address, address))                                          \
	S(165, mount, 5, 0, SC_FILE, (path, path, path, mount_flags, address))                     \
	S(166, umount2, 2, 0, SC_FILE, (path, umount_flags))                                       \
	S(167, swapon, 2, 0, SC_FILE, (path, swap_flags))                                          \
	S(168, swapoff, 1, 0, SC_FILE, (path))                                                     \
	S(169, reboot, 4, 0, 0, (reboot_magic, reboot_magic, reboot_command, address))             \
	S(170, sethostname, 2, 0, 0, (address, uint))                                              \
	S(171, setdomainname, 2, 0, 0, (address, uint))                                            \
	S(172, iopl, 1, 0, 0, (int))                                                               \
	S(173, ioperm, 3, 0, 0, (lhex, lhex, int))                                                 \
	S(174, create_module, 2, 0, 0, (lhex, lhex))                                               \
	S(175, init_module, 3, 0, 0, (address, ulong, address))                                    \
	S(176, delete_module, 2, 0, 0, (path, delete_module_flags))                                \
	S(177, get_kernel_syms, 1, 0, 0, (lhex))                                                   \
	S(178, query_module, 5, 0, 0, (lhex, lhex, lhex, lhex, lhex))                              \
	S(179, quotactl, 4, 0, SC_FILE, (quota_command, path, uint, address))                      \
	S(180, nfsservctl, 3, 0, 0, (lhex, lhex, lhex))                                            \
	S(181, getpmsg, 5, 0, SC_NETWORK, (lhex, lhex, lhex, lhex, lhex))                          \
	S(182, putpmsg, 5, 0, SC_NETWORK, (lhex, lhex, lhex, lhex, lhex))                          \
	S(183, afs_syscall, 5, 0, 0, (lhex, lhex, lhex, lhex, lhex))                               \
	S(184, tuxcall, 3, 0, 0, (lhex, lhex, lhex))                                               \
	S(185, security, 3, 0, 0, (lhex, lhex, lhex))                                              \
	S(186, gettid, 0, 0, 0, ())                                                                \
	S(187, readahead, 3, 1, SC_DESC, (fd, offset, size))                                       \
	S(188, setxattr, 5, 0, SC_FILE, (path, address, address, size, xattr_flags))               \
	S(189, lsetxattr, 5, 0, SC_FILE, (path, address, address, size, xattr_flags))              \
	S(190, fsetxattr, 5, 1, SC_DESC, (fd, address, address, size, xattr_flags))                \
	S(191, getxattr, 4, 0, SC_FILE, (path, address, address, size))                            \
	S(192, lgetxattr, 4, 0, SC_FILE, (path, address, address, size))                           \
	S(193, fgetxattr, 4, 1, SC_DESC, (fd, address, address, size))                             \
	S(194, listxattr, 3, 0, SC_FILE, (path, address, size))                                    \
	S(195, llistxattr, 3, 0, SC_FILE, (path, address, size))                                   \
	S(196, flistxattr, 3, 1, SC_DESC, (fd, address, size))                                     \
	S(197, removexattr, 2, 0, SC_FILE, (path, address))                                        \
	S(198, lremovexattr, 2, 0, SC_FILE, (path, address))                                       \
	S(199, fremovexattr, 2, 1, SC_DESC, (fd, address))                                         \
	S(200, tkill, 2, 0, SC_SIGNAL | SC_PROCESS, (pid, signal))                                 \
	S(201, time, 1, 0, 0, (address))                                                           \
	S(202, futex, 6, 0, 0,                                                                     \
		(address, futex_operation, uint, futex_timeout, address, futex_value3))            \
	S(203, sched_setaffinity, 3, 0, 0, (pid, uint, address))                                   \
	S(204, sched_getaffinity, 3, 0, 0, (pid, uint, address))                                   \
	S(205, set_thread_area, 1, 0, 0, (address))                                                \
	S(206, io_setup, 2, 0, SC_MEMORY, (uint, address))                                         \
	S(207, io_destroy, 1, 0, SC_MEMORY, (address))                                             \
	S(208, io_getevents, 5, 0, 0, (address, long, long, address, address))                     \
	S(209, io_submit, 3, 0, 0, (address, long, address))                                       \
	S(210, io_cancel, 3, 0, 0, (address, address, address))                                    \
	S(211, get_thread_area, 1, 0, 0, (address))                                                \
	S(212, lookup_dcookie, 3, 0, 0, (ulong, address, size))                                    \
	S(213, epoll_create, 1, 0, SC_DESC, (int))                                                 \
	S(214, epoll_ctl_old, 4, 0, 0, (lhex, lhex, lhex, lhex))                                   \
	S(215, epoll_wait_old, 4, 0, 0, (lhex, lhex, lhex, lhex))                                  \
	S(216, remap_file_pages, 5, 0, SC_MEMORY, (address, size, mmap_prot, ulong, mmap_flags))   \
	S(217, getdents64, 3, 1, SC_DESC, (fd, address, uint))                                     \
	S(218, set_tid_address, 1, 0, 0, (lhex))                                                   \
	S(219, restart_syscall, 0, 0, 0, ())                                                       \
	S(220, semtimedop, 4, 0, SC_IPC, (int, address, uint, address))                            \
	S(221, fadvise64, 4, 1, SC_DESC, (fd, offset, size, fadvise_advice))                       \
	S(222, timer_create, 3, 0, 0, (clock, address, address))                                   \
	S(223, timer_settime, 4, 0, 0, (int, timer_flags, address, address))                       \
	S(224, timer_gettime, 2, 0, 0, (int, address))                                             \
	S(225, timer_getoverrun, 1, 0, 0, (int))                                                   \
	S(226, timer_delete, 1, 0, 0, (int))                                                       \
	S(227, clock_settime, 2, 0, 0, (clock, address))                                           \
	S(228, clock_gettime, 2, 0, 0, (clock, address))                                           \
	S(229, clock_getres, 2, 0, 0, (clock, address))                                            \
	S(230, clock_nanosleep, 4, 0, 0, (clock, timer_flags, address, address))                   \
	S(231, exit_group, 1, 0, SC_PROCESS, (int))                                                \
	S(232, epoll_wait, 4, 1, SC_DESC, (fd, address, int, int))                                 \
	S(233, epoll_ctl, 4, 1, SC_DESC, (fd, epoll_operation, fd, address))                       \
	S(234, tgkill, 3, 0, SC_SIGNAL | SC_PROCESS, (pid, pid, signal))                           \
	S(235, utimes, 2, 0, SC_FILE, (path, address))                                             \
	S(236, vserver, 5, 0, 0, (lhex, lhex, lhex, lhex, lhex))                                   \
	S(237, mbind, 6, 0, SC_MEMORY,                                                             \
		(address, ulong, mempolicy_mode, address, ulong, mbind_flags))                     \
	S(238, set_mempolicy, 3, 0, SC_MEMORY, (mempolicy_mode, address, ulong))                   \
	S(239, get_mempolicy, 5, 0, SC_MEMORY,                                                     \
		(address, address, ulong, address, mempolicy_flags))                               \
	S(240, mq_open, 4, 0, SC_DESC, (path, open_flags, mode, address))                          \
	S(241, mq_unlink, 1, 0, 0, (path))                                                         \
	S(242, mq_timedsend, 5, 1, SC_DESC, (fd, address, size, uint, address))                    \
	S(243, mq_timedreceive, 5, 1, SC_DESC, (fd, address, size, address, address))              \
	S(244, mq_notify, 2, 1, SC_DESC, (fd, address))                                            \
	S(245, mq_getsetattr, 3, 1, SC_DESC, (fd, address, address))                               \
	S(246, kexec_load, 4, 0, 0, (address, ulong, address, kexec_flags))                        \
	S(247, waitid, 5, 0, SC_PROCESS, (waitid_type, pid, address, wait_flags, address))         \
	S(248, add_key, 5, 0, 0, (path, path, address, size, keyring))                             \
	S(249, request_key, 4, 0, 0, (path, path, path, keyring))                                  \
	S(250, keyctl, 5, 0, 0, (keyctl_operation, lhex, lhex, lhex, lhex))                        \
	S(251, ioprio_set, 3, 0, 0, (ioprio_who, pid, ioprio))                                     \
	S(252, ioprio_get, 2, 0, 0, (ioprio_who, pid))                                             \
	S(253, inotify_init, 0, 0, SC_DESC, ())                                                    \
	S(254, inotify_add_watch, 3, 1, SC_DESC | SC_FILE, (fd, path, inotify_mask))               \
	S(255, inotify_rm_watch, 2, 1, SC_DESC, (fd, int))                                         \
	S(256, migrate_pages, 4, 0, SC_MEMORY, (pid, ulong, address, address))                     \
	S(257, openat, 4, 1, SC_DESC | SC_FILE, (dirfd, path, open_flags, mode))                   \
	S(258, mkdirat, 3, 1, SC_DESC | SC_FILE, (dirfd, path, mode))                              \
	S(259, mknodat, 4, 1, SC_DESC | SC_FILE, (dirfd, path, node_mode, device))                 \
	S(260, fchownat, 5, 1, SC_DESC | SC_FILE, (dirfd, path, uid, uid, at_flags))               \
	S(261, futimesat, 3, 1, SC_DESC | SC_FILE, (dirfd, path, address))                         \
	S(262, newfstatat, 4, 1, SC_DESC | SC_FILE, (dirfd, path, address, at_flags))              \
	S(263, unlinkat, 3, 1, SC_DESC | SC_FILE, (dirfd, path, at_flags))                         \
	S(264, renameat, 4, 1, SC_DESC | SC_FILE, (dirfd, path, dirfd, path))                      \
	S(265, linkat, 5, 1, SC_DESC | SC_FILE, (dirfd, path, dirfd, path, at_flags))              \
	S(266, symlinkat, 3, 2, SC_DESC | SC_FILE, (path, dirfd, path))                            \
	S(267, readlinkat, 4, 1, SC_DESC | SC_FILE, (dirfd, path, address, size))                  \
	S(268, fchmodat, 3, 1, SC_DESC | SC_FILE, (dirfd, path, mode))                             \
	S(269, faccessat, 3, 1, SC_DESC | SC_FILE, (dirfd, path, access_mode))                     \
	S(270, pselect6, 6, 0, SC_DESC, (int, address, address, address, address, address))        \
	S(271, ppoll, 5, 0, SC_DESC, (address, uint, address, address, size))                      \
	S(272, unshare, 1, 0, 0, (unshare_flags))                                                  \
	S(273, set_robust_list, 2, 0, 0, (address, size))                                          \
	S(274, get_robust_list, 3, 0, 0, (pid, address, address))                                  \
	S(275, splice, 6, 1, SC_DESC, (fd, address, fd, address, size, splice_flags))              \
	S(276, tee, 4, 1, SC_DESC, (fd, fd, size, splice_flags))                                   \
	S(277, sync_file_range, 4, 1, SC_DESC, (fd, offset, offset, sync_range_flags))             \
	S(278, vmsplice, 4, 1, SC_DESC, (fd, address, ulong, splice_flags))                        \
	S(279, move_pages, 6, 0, SC_MEMORY,                                                        \
		(pid, ulong, address, address, address, move_pages_flags))                         \
	S(280, utimensat, 4, 1, SC_DESC | SC_FILE, (dirfd, path, address, at_flags))               \
	S(281, epoll_pwait, 6, 1, SC_DESC, (fd, address, int, int, address, size))                 \
	S(282, signalfd, 3, 1, SC_DESC | SC_SIGNAL, (fd, address, size))                           \
	S(283, timerfd_create, 2, 0, SC_DESC, (clock, timerfd_flags))                              \
	S(284, eventfd, 1, 0, SC_DESC, (uint))                                                     \
	S(285, fallocate, 4, 1, SC_DESC, (fd, fallocate_mode, offset, offset))                     \
	S(286, timerfd_settime, 4, 1, SC_DESC, (fd, timerfd_flags, address, address))              \
	S(287, timerfd_gettime, 2, 1, SC_DESC, (fd, address))                                      \
	S(288, accept4, 4, 1, SC_NETWORK, (fd, address, address, socket_flags))                    \
	S(289, signalfd4, 4, 1, SC_DESC | SC_SIGNAL, (fd, address, size, signalfd_flags))          \
	S(290, eventfd2, 2, 0, SC_DESC, (uint, eventfd_flags))                                     \
	S(291, epoll_create1, 1, 0, SC_DESC, (epoll_create_flags))                                 \
	S(292, dup3, 3, 1, SC_DESC, (fd, fd, file_flags))                                          \
	S(293, pipe2, 2, 0, SC_DESC, (address, file_flags))                                        \
	S(294, inotify_init1, 1, 0, SC_DESC, (inotify_flags))                                      \
	S(295, preadv, 4, 1, SC_DESC, (fd, address, ulong, offset))                                \
	S(296, pwritev, 4, 1, SC_DESC, (fd, address, ulong, offset))                               \
	S(297, rt_tgsigqueueinfo, 4, 0, SC_SIGNAL | SC_PROCESS, (pid, pid, signal, address))       \
	S(298, perf_event_open, 5, 0, SC_DESC, (address, pid, int, fd, perf_flags))                \
	S(299, recvmmsg, 5, 1, SC_NETWORK, (fd, address, uint, message_flags, address))            \
	S(300, fanotify_init, 2, 0, SC_DESC, (fanotify_init_flags, fanotify_event_flags))          \
	S(301, fanotify_mark, 5, 1, SC_DESC | SC_FILE,                                             \
		(fd, fanotify_mark_flags, fanotify_mask, dirfd, path))                             \
	S(302, prlimit64, 4, 0, 0, (pid, rlimit_resource, address, address))                       \
	S(303, name_to_handle_at, 5, 1, SC_DESC | SC_FILE,                                         \
		(dirfd, path, address, address, handle_flags))                                     \
	S(304, open_by_handle_at, 3, 1, SC_DESC, (dirfd, address, open_flags))                     \
	S(305, clock_adjtime, 2, 0, 0, (clock, address))                                           \
	S(306, syncfs, 1, 1, SC_DESC, (fd))                                                        \
	S(307, sendmmsg, 4, 1, SC_NETWORK, (fd, address, uint, message_flags))                     \
	S(308, setns, 2, 1, SC_DESC, (fd, setns_flags))                                            \
	S(309, getcpu, 3, 0, 0, (address, address, address))                                       \
	S(310, process_vm_readv, 6, 0, 0, (pid, address, ulong, address, ulong, ulong))            \
	S(311, process_vm_writev, 6, 0, 0, (pid, address, ulong, address, ulong, ulong))           \
	S(312, kcmp, 5, 0, 0, (pid, pid, kcmp_type, kcmp_index, kcmp_index))                       \
	S(313, finit_module, 3, 1, SC_DESC, (fd, address, finit_module_flags))                     \
	S(314, sched_setattr, 3, 0, 0, (pid, address, uint))                                       \
	S(315, sched_getattr, 4, 0, 0, (pid, address, uint, uint))                                 \
	S(316, renameat2, 5, 1, SC_DESC | SC_FILE, (dirfd, path, dirfd, path, rename_flags))       \
	S(317, seccomp, 3, 0, 0, (seccomp_operation, seccomp_flags, address))                      \
	S(318, getrandom, 3, 0, 0, (address, size, getrandom_flags))                               \
	S(319, memfd_create, 2, 0, SC_DESC, (path, memfd_flags))                                   \
	S(320, kexec_file_load, 5, 1, SC_DESC, (fd, fd, ulong, address, kexec_file_flags))         \
	S(321, bpf, 3, 0, SC_DESC, (bpf_command, address, uint))                                   \
	S(322, execveat, 5, 1, SC_DESC | SC_FILE | SC_PROCESS,                                     \
		(dirfd, path, address, address, at_flags))                                         \
	S(323, userfaultfd, 1, 0, SC_DESC, (userfaultfd_flags))                                    \
	S(324, membarrier, 3, 0, 0, (membarrier_command, membarrier_flags, int))                   \
	S(325, mlock2, 3, 0, SC_MEMORY, (address, size, mlock_flags))                              \
	S(326, copy_file_range, 6, 1, SC_DESC, (fd, address, fd, address, size, uint))             \
	S(327, preadv2, 6, 1, SC_DESC, (fd, address, ulong, offset, unused, read_write_flags))     \
	S(328, pwritev2, 6, 1, SC_DESC, (fd, address, ulong, offset, unused, read_write_flags))    \
	S(329, pkey_mprotect, 4, 0, SC_MEMORY, (address, size, mmap_prot, int))                    \
	S(330, pkey_alloc, 2, 0, 0, (lhex, pkey_rights))                                           \
	S(331, pkey_free, 1, 0, 0, (int))                                                          \
	S(332, statx, 5, 1, SC_DESC | SC_FILE, (dirfd, path, statx_flags, statx_mask, address))    \
	S(333, io_pgetevents, 6, 0, 0, (address, long, long, address, address, address))           \
	S(334, rseq, 4, 0, 0, (address, hex, rseq_flags, hex))                                     \
	S(335, uretprobe, 0, 0, 0, ())                                                             \
	S(336, uprobe, 0, 0, 0, ())                                                                \
	S(424, pidfd_send_signal, 4, 1, SC_DESC | SC_PROCESS | SC_SIGNAL,                          \
		(fd, signal, address, hex))                                                        \
	S(425, io_uring_setup, 2, 0, SC_DESC, (uint, address))                                     \
	S(426, io_uring_enter, 6, 1, SC_DESC | SC_SIGNAL,                                          \
		(fd, uint, uint, io_uring_enter_flags, address, size))                             \
	S(427, io_uring_register, 4, 1, SC_DESC | SC_MEMORY,                                       \
		(fd, io_uring_register_operation, address, uint))                                  \
	S(428, open_tree, 3, 1, SC_DESC | SC_FILE, (dirfd, path, open_tree_flags))                 \
	S(429, move_mount, 5, 1, SC_DESC | SC_FILE, (dirfd, path, dirfd, path, move_mount_flags))  \
	S(430, fsopen, 2, 0, SC_DESC, (path, fsopen_flags))                                        \
	S(431, fsconfig, 5, 1, SC_DESC | SC_FILE, (fd, fsconfig_command, address, address, int))   \
	S(432, fsmount, 3, 1, SC_DESC, (fd, fsmount_flags, mount_attributes))                      \
	S(433, fspick, 3, 1, SC_DESC | SC_FILE, (dirfd, path, fspick_flags))                       \
	S(434, pidfd_open, 2, 0, SC_DESC, (pid, pidfd_flags))                                      \
	S(435, clone3, 2, 0, SC_PROCESS, (address, size))                                          \
	S(436, close_range, 3, 0, 0, (uint, uint, close_range_flags))                              \
	S(437, openat2, 4, 1, SC_DESC | SC_FILE, (dirfd, path, address, size))                     \
	S(438, pidfd_getfd, 3, 1, SC_DESC, (fd, fd, hex))                                          \
	S(439, faccessat2, 4, 1, SC_DESC | SC_FILE, (dirfd, path, access_mode, faccessat_flags))   \
	S(440, process_madvise, 5, 1, SC_DESC, (fd, address, ulong, madvise_advice, hex))          \
	S(441, epoll_pwait2, 6, 1, SC_DESC, (fd, address, int, address, address, size))            \
	S(442, mount_setattr, 5, 1, SC_DESC | SC_FILE,                                             \
		(dirfd, path, mount_at_flags, address, size))                                      \
	S(443, quotactl_fd, 4, 1, SC_DESC, (fd, quota_command, uint, address))                     \
	S(444, landlock_create_ruleset, 3, 0, SC_DESC, (address, size, landlock_flags))            \
	S(445, landlock_add_rule, 4, 1, SC_DESC, (fd, landlock_rule, address, hex))                \
	S(446, landlock_restrict_self, 2, 1, SC_DESC, (fd, hex))                                   \
	S(447, memfd_secret, 1, 0, SC_DESC, (memfd_secret_flags))                                  \
	S(448, process_mrelease, 2, 1, SC_DESC, (fd, hex))                                         \
	S(449, futex_waitv, 5, 0, 0, (address, uint, hex, address, clock))                         \
	S(450, set_mempolicy_home_node, 4, 0, SC_MEMORY, (address, ulong, ulong, lhex))            \
	S(451, cachestat, 4, 1, SC_DESC, (fd, address, address, hex))                              \
	S(452, fchmodat2, 4, 1, SC_DESC | SC_FILE, (dirfd, path, mode, at_flags))                  \
	S(453, map_shadow_stack, 3, 0, SC_MEMORY, (address, size, shadow_stack_flags))             \
	S(454, futex_wake, 4, 0, 0, (address, lhex, int, futex2_flags))                            \
	S(455, futex_wait, 6, 0, 0, (address, lhex, lhex, futex2_flags, address, clock))           \
	S(456, futex_requeue, 4, 0, 0, (address, hex, int, int))                                   \
	S(457, statmount, 4, 0, 0, (address, address, size, hex))                                  \
	S(458, listmount, 4, 0, 0, (address, address, size, hex))                                  \
	S(459, lsm_get_self_attr, 4, 0, 0, (uint, address, address, hex))                          \
	S(460, lsm_set_self_attr, 4, 0, 0, (uint, address, uint, hex))                             \
	S(461, lsm_list_modules, 3, 0, 0, (address, address, hex))                                 \
	S(462, mseal, 3, 0, SC_MEMORY, (address, size, lhex))                                      \
	S(463, setxattrat, 6, 1, SC_DESC | SC_FILE,                                                \
		(dirfd, path, at_flags, address, address, size))                                   \
	S(464, getxattrat, 6, 1, SC_DESC | SC_FILE,                                                \
		(dirfd, path, at_flags, address, address, size))                                   \
	S(465, listxattrat, 5, 1, SC_DESC | SC_FILE, (dirfd, path, at_flags, address, size))       \
	S(466, removexattrat, 4, 1, SC_DESC | SC_FILE, (dirfd, path, at_flags, address))           \
	S(467, open_tree_attr, 5, 1, SC_DESC | SC_FILE,                                            \
		(dirfd, path, open_tree_flags, address, size))                                     \
	S(468, file_getattr, 5, 1, SC_DESC | SC_FILE, (dirfd, path, address, size, at_flags))      \
	S(469, file_setattr, 5, 1, SC_DESC | SC_FILE, (dirfd, path, address, size, at_flags))      \
	S(470, listns, 4, 0, 0, (address, address, size, hex))
/* clang-format on */

/*
 * The numbers without a row, in a table of the number of arguments: all six are recorded, so that a
 * call newer than this list loses nothing. It is not known to work on an fd.
 */
#define SYSCALL_NARGS_OF_OTHERS [337 ... 423] = 6, [471 ... 511] = 6

/*
 * Initializer for a table of SYSCALL_TABLE_SIZE rows in kernel programs, as
 * const volatile u8 places[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT.
 */
/* 0: none, else the argument counted from 1 */
#define SYSCALL_FDARG_ROW(nr, name, nargs, fd, classes, kinds) [nr] = (fd),
#define SYSCALL_FDARG_INIT                                                                         \
	{                                                                                          \
		RECORD_SYSCALLS(SYSCALL_FDARG_ROW)                                                 \
	}

/* Numbers by name: SYSCALL_NR_read */
enum syscall_nr {
#define S(nr, name, nargs, fd, classes, kinds) SYSCALL_NR_##name = (nr),
	RECORD_SYSCALLS(S)
#undef S
};

#endif
