/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls with known arguments: syscall_truth.c makes them under strace,
 * syscall_format.c formats them. Addresses are such that strace cannot read them.
 */
#ifndef TESTS_UNIT_MODEL_SYSCALL_CASES_H
#define TESTS_UNIT_MODEL_SYSCALL_CASES_H

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <linux/xattr.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/syscalls.h"

/* clang-format off */
#define SYSCALL_CASES(C)                                                                           \
C(open, 0xdead0, O_RDONLY | O_CLOEXEC) \
	C(openat, AT_FDCWD, 0xdead0, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644) \
	C(openat, 7, 0xdead0, O_RDWR | O_NONBLOCK | O_DIRECTORY) \
	C(openat, AT_FDCWD, 0xdead0, O_RDONLY | O_SYNC) \
	C(openat, AT_FDCWD, 0xdead0, O_RDWR | O_TMPFILE, 0600) \
	C(read, 3, 0xdead0, 4096) \
	C(write, -1, 0xdead0, 100000) \
	C(pread64, 3, 0xdead0, 10, -1) \
	C(lseek, 3, -100, SEEK_END) \
	C(mmap, 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) \
	C(mmap, 0xdead000, 4096, PROT_NONE, MAP_SHARED | MAP_FIXED, 4, 0x2000) \
	C(mprotect, 0xdead000, 4096, PROT_READ | PROT_EXEC) \
	C(munmap, 0xdead000, 4096) \
	C(madvise, 0xdead000, 4096, MADV_DONTNEED) \
	C(mremap, 0xdead000, 4096, 8192, MREMAP_MAYMOVE, 0) \
	C(msync, 0xdead000, 4096, MS_SYNC) \
	C(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP) \
	C(socket, AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) \
	C(socket, AF_UNIX, SOCK_SEQPACKET, 0) \
	C(socket, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC) \
	C(socketpair, AF_UNIX, SOCK_STREAM, 0, 0xdead0) \
	C(accept4, 3, 0xdead0, 0xdead4, SOCK_CLOEXEC | SOCK_NONBLOCK) \
	C(sendto, 3, 0xdead0, 5, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0) \
	C(recvfrom, 3, 0xdead0, 5, MSG_PEEK, 0, 0) \
	C(recvmsg, 3, 0xdead0, MSG_WAITALL) \
	C(setsockopt, 3, SOL_SOCKET, SO_REUSEADDR, 0xdead0, 4) \
	C(setsockopt, 3, SOL_TCP, TCP_NODELAY, 0xdead0, 4) \
	C(setsockopt, 3, SOL_IP, IP_TOS, 0xdead0, 4) \
	C(setsockopt, 3, SOL_IP, IP_RETOPTS, 0xdead0, 4) \
	C(setsockopt, 3, SOL_IP, IP_UNICAST_IF, 0xdead0, 4) \
	C(setsockopt, 3, SOL_IP, 77, 0xdead0, 4) \
	C(setsockopt, 3, SOL_IPV6, IPV6_V6ONLY, 0xdead0, 4) \
	C(setsockopt, 3, SOL_IPV6, IPV6_ADD_MEMBERSHIP, 0xdead0, 4) \
	C(setsockopt, 3, SOL_IPV6, IPV6_FREEBIND, 0xdead0, 4) \
	C(sendto, 3, 0xdead0, 5, MSG_PROXY, 0, 0) \
	C(shutdown, 3, SHUT_WR) \
	C(connect, 3, 0xdead0, 16) \
	C(listen, 3, 128) \
	C(epoll_create1, EPOLL_CLOEXEC) \
	C(epoll_ctl, 3, EPOLL_CTL_ADD, 4, 0xdead0) \
	C(epoll_wait, 3, 0xdead0, 10, -1) \
	C(poll, 0xdead0, 2, -1) \
	C(futex, 0xdead0, FUTEX_WAIT_PRIVATE, 2, 0) \
	C(futex, 0xdead0, FUTEX_WAKE_PRIVATE, 1) \
	C(futex, 0xdead0, FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 1) \
	C(futex, 0xdead0, FUTEX_REQUEUE_PRIVATE | FUTEX_CLOCK_REALTIME, 1, 2, 0xdead0) \
	C(futex, 0xdead0, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 1, 0) \
	C(futex, 0xdead0, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, 0xdead8, 0, -1) \
	C(clock_gettime, CLOCK_MONOTONIC, 0xdead0) \
	C(clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, 0xdead0, 0) \
	C(clock_nanosleep, CLOCK_BOOTTIME, 0, 0xdead0, 0xdead8) \
	C(nanosleep, 0xdead0, 0) \
	C(timerfd_create, CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC) \
	C(timerfd_settime, 3, TFD_TIMER_ABSTIME, 0xdead0, 0) \
	C(eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK) \
	C(pipe2, 0xdead0, O_CLOEXEC | O_DIRECT) \
	C(dup3, 3, 4, O_CLOEXEC) \
	C(fcntl, 3, F_SETFD, FD_CLOEXEC) \
	C(fcntl, 3, F_GETFL) \
	C(fcntl, 3, F_SETFL, O_RDWR | O_NONBLOCK) \
	C(fcntl, 3, F_DUPFD_CLOEXEC, 10) \
	C(fcntl, 3, F_SETLKW, 0xdead0) \
	C(flock, 3, LOCK_EX | LOCK_NB) \
	C(ioctl, 3, TCGETS, 0xdead0) \
	C(ioctl, 3, FIONBIO, 0xdead0) \
	C(ioctl, 3, FIOCLEX, 7) \
	C(ioctl, 3, FIONCLEX, 7) \
	C(ioctl, 3, FIGETBSZ, 0xdead0) \
	C(ioctl, 3, FS_IOC_GETFLAGS, 0xdead0) \
	C(ioctl, 3, FS_IOC_FIEMAP, 0xdead0) \
	C(ioctl, 3, FS_IOC_FSGETXATTR, 0xdead0) \
	C(ioctl, 3, FIFREEZE, 7) \
	C(ioctl, 3, SIOCGIFCONF, 0xdead0) \
	C(ioctl, 3, SIOCGIFHWADDR, 0xdead0) \
	C(ioctl, 3, SIOCGIFINDEX, 0xdead0) \
	C(ioctl, 3, SIOCETHTOOL, 0xdead0) \
	C(ioctl, 3, SIOCOUTQ, 0xdead0) \
	C(ioctl, 3, BLKGETSIZE64, 0xdead0) \
	C(ioctl, 3, BLKDISCARD, 0xdead0) \
	C(ioctl, 3, BLKFLSBUF, 7) \
	C(ioctl, 3, 0x2405, 4) /* PERF_EVENT_IOC_SET_OUTPUT */ \
	C(ioctl, 3, 0x80082407, 0xdead0) /* PERF_EVENT_IOC_ID */ \
	C(ioctl, 3, 0x4c00, 4) /* LOOP_SET_FD */ \
	C(ioctl, 3, 0x4c82, 7) /* LOOP_CTL_GET_FREE */ \
	C(ioctl, 3, 0x400454ca, 0xdead0) /* TUNSETIFF */ \
	C(ioctl, 3, 0x80247009, 0xdead0) /* RTC_RD_TIME */ \
	C(ioctl, 3, 0xae80, 0) /* KVM_RUN */ \
	C(ioctl, 3, 0x802c542a, 0xdead0) /* TCGETS2 */ \
	C(ioctl, 3, TIOCEXCL, 7) \
	C(rseq, 0xdead0, 32, 0, 0x53053053) \
	C(prctl, PR_GET_DUMPABLE, 1, 2, 3, 4) \
	C(prctl, PR_GET_KEEPCAPS, 1, 2, 3, 4) \
	C(prctl, PR_GET_SECCOMP, 1, 2, 3, 4) \
	C(prctl, PR_GET_TIMERSLACK, 1, 2, 3, 4) \
	C(prctl, PR_GET_PDEATHSIG, 0xdead0, 2, 3, 4) \
	C(prctl, PR_SET_KEEPCAPS, 1, 2, 3, 4) \
	C(prctl, PR_SET_PDEATHSIG, SIGTERM, 2, 3, 4) \
	C(prctl, PR_SET_TIMERSLACK, 50000, 2, 3, 4) \
	C(prctl, PR_SET_NAME, 0xdead0, 2, 3, 4) \
	C(prctl, PR_GET_NAME, 0xdead0, 2, 3, 4) \
	C(prctl, PR_GET_CHILD_SUBREAPER, 0xdead0, 2, 3, 4) \
	C(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) \
	C(prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) \
	C(wait4, -1, 0xdead0, WNOHANG | WCONTINUED, 0) \
	C(waitid, P_ALL, 0, 0xdead0, WEXITED | WNOWAIT, 0) \
	C(kill, 12345678, SIGTERM) \
	C(tgkill, 12345678, 12345678, 34) \
	C(rt_sigaction, SIGUSR1, 0, 0xdead0, 8) \
	C(rt_sigprocmask, SIG_SETMASK, 0xdead0, 0, 8) \
	C(access, 0xdead0, F_OK) \
	C(access, 0xdead0, R_OK | X_OK) \
	C(newfstatat, AT_FDCWD, 0xdead0, 0xdead8, AT_SYMLINK_NOFOLLOW) \
	C(unlinkat, AT_FDCWD, 0xdead0, AT_REMOVEDIR) \
	C(mkdir, 0xdead0, 0755) \
	C(fchownat, AT_FDCWD, 0xdead0, -1, 1000, 0) \
	C(renameat2, AT_FDCWD, 0xdead0, AT_FDCWD, 0xdead8, RENAME_NOREPLACE) \
	C(getrandom, 0xdead0, 8, GRND_NONBLOCK) \
	C(fallocate, 3, FALLOC_FL_KEEP_SIZE, 0, 4096) \
	C(fadvise64, 3, 0, 4096, POSIX_FADV_SEQUENTIAL) \
	C(prlimit64, 0, RLIMIT_NOFILE, 0, 0xdead0) \
	C(close_range, 3, -1, 0) \
	C(preadv2, 3, 0xdead0, 2, 77, 0, RWF_NOWAIT) \
	C(getdents64, 3, 0xdead0, 32768) \
	C(statx, AT_FDCWD, 0xdead0, AT_EMPTY_PATH, STATX_SIZE | STATX_MTIME, 0xdead8) \
	C(arch_prctl, ARCH_SET_FS, 0xdead0) \
	C(sendfile, 3, 4, 0, 65536) \
	C(splice, 3, 0, 4, 0, 65536, SPLICE_F_MOVE | SPLICE_F_MORE) \
	C(futex, 0xdead0, FUTEX_CMP_REQUEUE_PRIVATE, 1, 2, 0xdead8, 3) \
	C(futex, 0xdead0, FUTEX_WAKE_BITSET_PRIVATE, 1, 0, 0, 0xf) \
	C(statx, 3, 0xdead0, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, 0xdead8) \
	C(mremap, 0xdead000, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, 0xbeef000) \
	C(epoll_pwait, 3, 0xdead0, 10, 1500, 0, 8) \
	C(dup2, 3, 4) \
	C(inotify_add_watch, 3, 0xdead0, IN_CREATE | IN_ONLYDIR) \
	C(memfd_create, 0xdead0, MFD_CLOEXEC | MFD_ALLOW_SEALING) \
	C(mmap, 0, 8192, PROT_READ, 0x4, -1, 0) \
	C(ftruncate, 3, 4096) \
	C(sched_setscheduler, 0, SCHED_FIFO, 0xdead0) \
	C(setpriority, PRIO_PROCESS, 0, -5) \
	C(signalfd4, 3, 0xdead0, 8, SFD_NONBLOCK) \
	C(getrusage, RUSAGE_SELF, 0xdead0) \
	C(mlockall, MCL_CURRENT | MCL_FUTURE) \
	C(sync_file_range, 3, 0, 4096, SYNC_FILE_RANGE_WRITE) \
	C(faccessat2, AT_FDCWD, 0xdead0, R_OK, AT_EACCESS) \
	C(faccessat2, 3, 0xdead0, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) \
	C(faccessat2, 3, 0xdead0, F_OK, 0) \
	C(linkat, 3, 0xdead0, 4, 0xdead8, AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) \
	C(name_to_handle_at, 3, 0xdead0, 0xdead0, 0xdead8, AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) \
	C(mount, 0xdead0, 0xdead4, 0xdead8, 0, 0) \
	C(mount, 0xdead0, 0xdead4, 0xdead8, 0x20d023, 0) \
	C(mount, 0xdead0, 0xdead4, 0xdead8, 0xfff | 0x7f << 16, 0xdead0) \
	C(umount2, 0xdead0, 0) \
	C(umount2, 0xdead0, 15) \
	C(fcntl, 3, F_ADD_SEALS, 7) \
	C(fcntl, 3, F_ADD_SEALS, 0) \
	C(fcntl, 3, F_SETLEASE, F_UNLCK) \
	C(fcntl, 3, F_SETSIG, SIGUSR1) \
	C(shmget, 0, 4096, 0600) \
	C(shmget, 0x1234, 4096, 07000 | 0644) \
	C(shmget, 5, 4096, 0) \
	C(semget, 0x99, 1, 01000) \
	C(msgget, 0, 03000 | 0666) \
	C(setns, 3, 0) \
	C(setns, 3, CLONE_NEWNET | CLONE_NEWNS | 1) \
	C(ptrace, 0) \
	C(ptrace, 16, 99999) \
	C(ptrace, 0x4207, 99999) \
	C(ptrace, 2, 99999, 0x10, 0x20) \
	C(bpf, 5, 0xdead0, 72) \
	C(bpf, 35, 0xdead0, 72) \
	C(setxattr, 0xdead0, 0xdead0, 0xdead4, 3, XATTR_CREATE) \
	C(fsetxattr, 3, 0xdead0, 0xdead4, 3, XATTR_CREATE | XATTR_REPLACE | 4) \
	C(msgsnd, 3, 0xdead0, 5, IPC_NOWAIT) \
	C(msgrcv, 3, 0xdead0, 5, -2, MSG_NOERROR | IPC_NOWAIT) \
	C(msgctl, 5, IPC_STAT, 0xdead0) \
	C(msgctl, 5, MSG_INFO, 0xdead0) \
	C(semctl, 5, 1, SETVAL, 0xdead0) \
	C(semctl, 5, 1, 0x100 | IPC_RMID, 0xdead0) \
	C(shmctl, 5, IPC_RMID, 0) \
	C(shmctl, 5, SHM_LOCK, 0) \
	C(shmctl, 5, 99, 0) \
	C(shmat, 5, 0, 0) \
	C(shmat, 5, 0xdead0, SHM_RDONLY | SHM_RND) \
	C(shmget, 5, 4096, SHM_HUGETLB | 21 << 26 | 0600) \
	C(memfd_create, 0xdead0, MFD_CLOEXEC | MFD_HUGETLB | 21 << 26) \
	C(mmap, 0, 4096, PROT_READ | 8, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26, -1, 0) \
	C(mmap, 0, 4096, PROT_READ, MAP_SHARED | 30 << 26, 3, 0) \
	C(mmap, 0, 4096, PROT_READ, 0, 3, 0) \
	C(mmap, 0, 4096, PROT_READ, MAP_FIXED, 3, 0) \
	C(madvise, 0xdead000, 4096, 24) \
	C(process_madvise, 3, 0xdead0, 1, 25, 0) \
	C(msync, 0xdead000, 4096, MS_ASYNC | MS_INVALIDATE | MS_SYNC) \
	C(mlock2, 0xdead000, 4096, 1) \
	C(setsockopt, 3, SOL_SOCKET, 50, 0xdead0, 4) \
	C(setsockopt, 3, SOL_SOCKET, 29, 0xdead0, 4) \
	C(getsockopt, 3, SOL_SOCKET, 75, 0xdead0, 0xdead4) \
	C(setsockopt, 3, SOL_NETLINK, NETLINK_EXT_ACK, 0xdead0, 4) \
	C(setsockopt, 3, SOL_PACKET, 18, 0xdead0, 4) \
	C(setsockopt, 3, 17, 103, 0xdead0, 4) \
	C(setsockopt, 3, SOL_TCP, 30, 0xdead0, 4) \
	C(setsockopt, 3, SOL_IPV6, MCAST_JOIN_GROUP, 0xdead0, 4) \
	C(setsockopt, 3, 136, 1, 0xdead0, 4) \
	C(prctl, PR_CAPBSET_READ, 40, 2, 3, 4) \
	C(prctl, PR_CAPBSET_DROP, 41, 2, 3, 4) \
	C(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0) \
	C(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) \
	C(prctl, PR_SET_DUMPABLE, 1, 2, 3, 4) \
	C(prctl, PR_SET_SECUREBITS, 0x15, 2, 3, 4) \
	C(prctl, PR_SET_SECCOMP, 1, 0xdead0, 3, 4) \
	C(prctl, PR_SET_SECCOMP, 2, 0xdead0, 3, 4) \
	C(prctl, PR_GET_NAME, 0, 2, 3, 4) \
	C(prctl, PR_TASK_PERF_EVENTS_DISABLE, 1, 2, 3, 4) \
	C(prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0) \
	C(mbind, 0xdead000, 4096, 2, 0xdead0, 64, 3) \
	C(mbind, 0xdead000, 4096, 0x8001, 0xdead0, 64, 0) \
	C(set_mempolicy, 0x2002, 0xdead0, 64) \
	C(set_mempolicy, 0x8009, 0, 0) \
	C(get_mempolicy, 0xdead0, 0xdead4, 64, 0xdead000, 3) \
	C(move_pages, 0, 0, 0, 0, 0, 2) \
	C(fanotify_init, 0, O_RDONLY) \
	C(fanotify_init, 0x205, O_RDWR | O_CLOEXEC) \
	C(fanotify_init, 0xc, O_RDONLY) \
	C(fanotify_mark, 3, 0x101, 0x40000018, AT_FDCWD, 0xdead0) \
	C(userfaultfd, O_NONBLOCK | O_CLOEXEC | 1) \
	C(pidfd_open, 7, O_NONBLOCK) \
	C(kcmp, 4, 5, 0, 6, 7) \
	C(kcmp, 4, 5, 2, 6, 7) \
	C(perf_event_open, 0xdead0, -1, 0, -1, 8) \
	C(mknod, 0xdead0, S_IFCHR | 0666, 0x103) \
	C(mknod, 0xdead0, S_IFIFO | 0600, 0x103) \
	C(mknod, 0xdead0, 0600, 0x103) \
	C(mknodat, AT_FDCWD, 0xdead0, S_IFBLK | S_ISGID | 0644, 0x12345678) \
	C(mknodat, 3, 0xdead0, S_IFMT | 7, 0x103) \
	C(chmod, 0xdead0, 0200644) \
	C(futex, 0xdead0, FUTEX_LOCK_PI_PRIVATE, 5, 0xdead4, 0, 0) \
	C(futex, 0xdead0, 13, 5, 0xdead4, 0xdead8, 7) \
	C(futex, 0xdead0, FUTEX_WAIT_REQUEUE_PI, 5, 0xdead4, 0xdead8, 7) \
	C(fcntl, 3, 13, 0xdead0) \
	C(flock, 3, LOCK_SH | 32) \
	C(inotify_init1, IN_NONBLOCK | IN_CLOEXEC) \
	C(wait4, -1, 0xdead0, WEXITED | WSTOPPED, 0) \
	C(clone, SIGCHLD, 0, 0xdead0, 0xdead4, 0xdead8) \
	C(clone, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, 0, 0, 0xdead4, 0) \
	C(clone, CLONE_PIDFD | CLONE_VM, 0xdead0, 0xdead4, 0, 0) \
	C(clone, CLONE_PARENT_SETTID | CLONE_SETTLS | CLONE_CHILD_CLEARTID, 0xdead0, 0xdead4, 0xdead8, 0xdeae0) \
	C(getppid) \
	C(exit, 3)

/* Those of 32-bit programs: the number and what lies in the registers. */
#define SYSCALL_COMPAT_CASES(C) \
	C(3, 3, 0xdead0, 4096) /* read */ \
	C(5, 0xdead0, O_WRONLY | O_CREAT, 0644) /* open */ \
	C(7, -1, 0xdead0, WNOHANG) /* waitpid */ \
	C(19, 3, -100, SEEK_END) /* lseek */ \
	C(48, SIGUSR1, 0xdead0) /* signal */ \
	C(54, 3, TCGETS, 0xdead0) /* ioctl */ \
	C(120, CLONE_PARENT_SETTID | CLONE_SETTLS | CLONE_CHILD_SETTID, 0, 0xdead4, 0xdead8, 0xdeae0) /* clone */ \
	C(140, 3, 1, 2, 0xdead0, SEEK_SET) /* _llseek */ \
	C(180, 3, 0xdead0, 10, 5, 1) /* pread64 */ \
	C(181, 3, 0xdead0, 10, -1, -1) /* pwrite64 */ \
	C(192, 0, 8192, PROT_READ, MAP_PRIVATE, 3, 2) /* mmap2 */ \
	C(193, 0xdead0, 0, 1) /* truncate64 */ \
	C(194, 3, 4096, 2) /* ftruncate64 */ \
	C(221, 3, F_SETFD, FD_CLOEXEC) /* fcntl64 */ \
	C(225, 3, 7, 1, 4096) /* readahead */ \
	C(250, 3, 7, 1, 4096, POSIX_FADV_SEQUENTIAL) /* fadvise64 */ \
	C(272, 3, 7, 1, 8, 2, POSIX_FADV_WILLNEED) /* fadvise64_64 */ \
	C(295, AT_FDCWD, 0xdead0, O_RDWR | O_CLOEXEC) /* openat */ \
	C(314, 3, 0, 1, 4096, 0, SYNC_FILE_RANGE_WRITE) /* sync_file_range */ \
	C(324, 3, FALLOC_FL_KEEP_SIZE, 0, 1, 4096, 0) /* fallocate */ \
	C(333, 3, 0xdead0, 2, 77, 1) /* preadv */ \
	C(359, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP) /* socket */ \
	C(364, 3, 0xdead0, 0xdead4, SOCK_CLOEXEC) /* accept4 */ \
	C(64) /* getppid */
/* clang-format on */

struct syscall_case {
	int nr;
	long args[6];
};

#define C(name, ...) {SYSCALL_NR_##name, {__VA_ARGS__}},
static const struct syscall_case syscall_cases[] = {SYSCALL_CASES(C)};
#undef C

#define C(nr, ...) {nr, {__VA_ARGS__}},
static const struct syscall_case syscall_compat_cases[]
	__attribute__((unused)) = {SYSCALL_COMPAT_CASES(C)};
#undef C

/* Random cases have these, but for newer ones, which an older strace does not refuse, and jumps. */
#define C(nr, name, ...) nr,
static const short syscall_random_numbers[] __attribute__((unused)) = {RECORD_SYSCALLS(C)};
#undef C

static inline unsigned long syscall_random_next(unsigned long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* An argument that has a name in one place or other, or an address that cannot be read. */
static inline long syscall_random_argument(unsigned long *state)
{
	const unsigned long r = syscall_random_next(state) >> 8, v = r >> 4;

	switch (r % 12) {
	case 0:
		return 0;
	case 1:
	case 2:
	case 3:
		return (long)(v % 48);
	case 4:
	case 5:
		return 1L << v % 32;
	case 6:
	case 7:
		return 1L << v % 32 | 1L << (v >> 8) % 32;
	case 8:
		return (long)(v % 16 | 1UL << (v >> 8) % 32);
	case 9:
		return -(long)(v % 200);
	case 10:
		return (long)(v % 0x1000000);
	default:
		return 0xdead0;
	}
}

/* A call with random arguments: the same for the same state, which goes on. */
static inline struct syscall_case syscall_random_case(unsigned long *state)
{
	const unsigned long count = sizeof(syscall_random_numbers) / sizeof(short);
	struct syscall_case c = {SYSCALL_NR_exit, {0}};

	while (c.nr == SYSCALL_NR_exit || c.nr == SYSCALL_NR_exit_group ||
	       c.nr == SYSCALL_NR_execve || c.nr == SYSCALL_NR_rt_sigreturn ||
	       c.nr == SYSCALL_NR_uretprobe || c.nr == 336 ||
	       c.nr > SYSCALL_NR_set_mempolicy_home_node)
		c.nr = syscall_random_numbers[(syscall_random_next(state) >> 8) % count];
	for (int i = 0; i < 6; i++) {
		c.args[i] = syscall_random_argument(state);
		if (c.args[i] >> 22 == 1)
			c.args[i] = 0xdead0; /* the program lies there */
	}
	return c;
}

#define SYSCALL_RANDOM_SEED 20260101UL
#define SYSCALL_RANDOM_CASES 20000
#define SYSCALL_COMPAT_CASES_COUNT (sizeof(syscall_compat_cases) / sizeof(syscall_compat_cases[0]))
#define SYSCALL_CASES_COUNT (sizeof(syscall_cases) / sizeof(syscall_cases[0]))

#endif
