/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by which a wait gets its cause: one table, matched from its top.
 *
 * A rule lists its conditions; a field without a condition matches anything. The
 * first rule that matches gives the answer, so special rules precede general ones.
 *
 * Disputable cases are decided like this:
 * - A stopped, traced or frozen thread is `other`, whatever syscall it is in: it is
 *   held by somebody, and its own wait does not matter meanwhile.
 * - A futex, sigtimedwait, semtimedop or poll that times out is `timer`, since nothing
 *   else came. So is a pause() that is ended by alarm().
 * - poll and select without a file are sleeps. If anything but a timer wakes one, that
 *   is a signal (`ipc`). Without a time-out it waits for a signal from the begin on.
 * - A recv() that times out is `network`: the peer did not answer.
 * - poll, select, epoll_wait and io_uring_enter wait for many things at once: the waker
 *   determines the cause. Until they are woken they are `other` (waiting for events),
 *   since no cause can be named, but nothing was missed. The same holds for
 *   io_getevents(), except that it is `disk` until it is woken, which is its usual use.
 * - Loopback TCP is `network`, although no wire is involved: programs use it as a
 *   network, and time lost there is found with the same tools.
 * - A signal is `ipc`, and so is a System V semaphore, even if programs use it as a
 *   lock. A file lock (flock, fcntl) is `lock`.
 * - A file of procfs, sysfs or cgroupfs is `other`, since it has kernel code behind it
 *   and no device. So is a file in memory (tmpfs).
 * - A file on a network file system is `network`, fsync included.
 * - Waiting for a lock inside the kernel while reading or writing a file (inode lock,
 *   page lock) is `disk`, since the holder of the lock does such work.
 * - A call that changes the memory map waits for the lock of the map, which faults and
 *   other calls of the process hold: `lock`. It is `disk` if an interrupt ended its disk
 *   sleep or, for a call that can bring memory in (populates a mapping), if a kernel
 *   thread did. Before the end the choice between the two is `unknown`. vmsplice,
 *   process_vm_readv and ptrace can be `disk` in the same way: they bring in the pages
 *   that they move.
 * - If a read passes through a kernel thread (btrfs, encryption), that thread ends the
 *   wait. In a call that brings memory in, any wait that a kernel thread ends counts as a
 *   read. The exceptions are rare: freeing memory (reclaim), emptying the CPUs' lists of
 *   pages (mbind, move_pages), and holding the lock of the map (khugepaged, ksmd). In
 *   other calls it does not count as a read: a process that ends waits for its inotify
 *   watches, a clone for networks that are removed, most calls for RCU (membarrier, bpf,
 *   unshare). Those are `other`; the clone is `lock`.
 * - A futex sleeps interruptibly only for the futex itself. An uninterruptible sleep is
 *   for its page (`fault`), which the kernel reads by itself, or, if a thread ends it, for
 *   the lock of the memory map (`lock`).
 * - open() that sleeps interruptibly waits for the other end of a FIFO, or for another
 *   program that has a lease on the file (`ipc`). If it sleeps uninterruptibly, it reads
 *   directories (`disk`), unless another thread ends the sleep: a program that permits
 *   opens, the last thread that an exec ends, a lock of cgroupfs (`other`).
 * - clone3() has its flags in memory. It sleeps for a vfork child or, briefly, for
 *   locks: `child`.
 * - A terminal is `other`: behind it is a person.
 * - splice, sendfile and copy_file_range wait for one of two files, of which only the
 *   first is recorded. The waker determines the cause, as with poll. If it does not, a
 *   splice that sleeps interruptibly waits for its pipe (`ipc`), since waits for storage
 *   are never interruptible, and the waker at a network socket always names the socket.
 */
#include "model/cause.h"

#include "model/rule_memo.h"
#include "record/syscalls.h"
#include "record/syscalls_compat.h"

/* ---- the conditions of rules ---- */

/* Groups of calls that wait in the same way. */
enum {
	CALL_POLL = 1 << 0, /* waits for any of several things */
	CALL_RING = 1 << 1, /* io_uring_enter, io_getevents: also for storage */
	CALL_FUTEX = 1 << 2,
	CALL_SLEEP = 1 << 3,
	CALL_CHILD = 1 << 4,
	CALL_CLONE = 1 << 5,
	CALL_SIGNAL = 1 << 6,  /* waits for a signal */
	CALL_MESSAGE = 1 << 7, /* System V and POSIX queues and semaphores */
	CALL_SYNC = 1 << 8,
	CALL_AIO = 1 << 9,
	CALL_FILE_LOCK = 1 << 10,
	CALL_SEND_FILE = 1 << 11, /* copies from one file to another, of which one is known */
	CALL_END = 1 << 12,
	CALL_SELECT_NONE = 1 << 13, /* poll or select, which only sleeps if arg0 is 0 */
	CALL_VFORK = 1 << 14,
	CALL_PATH = 1 << 15,   /* looks up a path */
	CALL_MEMORY = 1 << 16, /* changes the memory map */
	CALL_FORK = 1 << 17,
	CALL_SPLICE = 1 << 18, /* moves from or to a pipe */
	CALL_PAGES = 1 << 19,  /* copies or moves memory, whose pages may have to be read */
	CALL_FILLS = 1 << 20,  /* brings in the pages that it maps */
};

/* The kinds of wakers. */
enum {
	WAKER_NOT_SEEN = 1 << 0,
	WAKER_NETWORK_SOCKET = 1 << 1, /* data of a TCP, UDP or other socket of a network */
	WAKER_LOCAL_SOCKET = 1 << 2,   /* data of a Unix socket, a pipe or an eventfd */
	WAKER_KERNEL_SOCKET = 1 << 3,  /* netlink */
	WAKER_TIMER = 1 << 4,
	WAKER_NETWORK_IRQ = 1 << 5, /* a network softirq, with an unknown socket */
	WAKER_BLOCK_IRQ = 1 << 6,   /* a completed block I/O, or a softirq of the block layer */
	WAKER_IRQ = 1 << 7,	    /* any other interrupt */
	WAKER_TASK = 1 << 8,
	WAKER_KERNEL_THREAD = 1 << 9,
	WAKER_NOT_KNOWN = 1 << 10, /* a waking with an unknown context */
	WAKER_NO_DEVICE = 1 << 11, /* a kernel thread or RCU without a device behind it */
};

enum { ARG_ANY, ARG_ZERO, ARG_ENDLESS, ARG_VFORK, ARG_JOIN, ARG_REQUEST, ARG_IN_REQUEST, ARGS };

#define MODE(name) (1 << MODE_##name)
#define STATE(name) (1 << LEAVE_##name)
#define KIND(name) (1u << FILE_KIND_##name)

#define KINDS_NETWORK (KIND(tcp) | KIND(udp) | KIND(socket_other))
#define KINDS_LOCAL (KIND(pipe) | KIND(fifo) | KIND(unix) | KIND(eventfd))
#define KINDS_STORAGE (KIND(regular) | KIND(directory) | KIND(block))
#define WAKER_STORAGE (WAKER_BLOCK_IRQ | WAKER_IRQ)
#define WAKER_READ (WAKER_STORAGE | WAKER_KERNEL_THREAD) /* for calls that bring memory in */

/* A mask of 0 is no condition. */
struct cause_rule {
	u32 modes;
	u32 calls;
	u32 kinds;
	u32 states;
	u32 wakers;
	u8 arg0; /* ARG_* */
	u8 part; /* enum split_part */
	const char *reason;
};

#define THEN(what, why) .part = SPLIT_##what, .reason = (why)

/* clang-format off */
static const struct cause_rule rules[] = {
	/* not asleep, or held by somebody */
	{ .states = STATE(preempted), THEN(runnable, "preempted") },
	{ .states = STATE(throttled), THEN(throttled, "the CPU quota of its cgroup was used up") },
	{ .states = STATE(stopped), THEN(other, "stopped by a signal") },
	{ .states = STATE(traced), THEN(other, "held by a tracer") },
	{ .states = STATE(frozen), THEN(other, "frozen") },
	{ .states = STATE(dead), THEN(other, "has ended") },
	{ .states = STATE(parked), THEN(other, "parked") },

	/* kernel threads */
	{ .modes = MODE(kernel_thread), .wakers = WAKER_TIMER,
	  THEN(timer, "kernel thread, until a time") },
	{ .modes = MODE(kernel_thread), .states = STATE(disk_sleep), .wakers = WAKER_STORAGE,
	  THEN(disk, "kernel thread, for storage") },
	{ .modes = MODE(kernel_thread), .kinds = KINDS_NETWORK | KIND(network_fs),
	  THEN(network, "request to io_uring: network socket, or file of another machine") },
	{ .modes = MODE(kernel_thread), .kinds = KINDS_LOCAL,
	  THEN(ipc, "request to io_uring: pipe, eventfd or Unix socket") },
	{ .modes = MODE(kernel_thread), .kinds = KINDS_STORAGE,
	  THEN(disk, "request to io_uring: file on storage") },
	{ .modes = MODE(kernel_thread), .states = STATE(sleep), .arg0 = ARG_REQUEST,
	  .wakers = WAKER_TASK, THEN(ipc, "request to io_uring: another thread came") },
	{ .modes = MODE(kernel_thread), .arg0 = ARG_REQUEST,
	  THEN(other, "within a request to io_uring") },
	{ .modes = MODE(kernel_thread), THEN(other, "kernel thread, for work") },

	/* asleep with no syscall and no fault open */
	{ .modes = MODE(user), .states = STATE(disk_sleep),
	  THEN(other, "return to user: memory or I/O limit") },
	{ .modes = MODE(user), THEN(other, "return to user or entry: held by a supervisor, or work put off") },

	/* after its last syscall and fault: a signal ends it, or another thread ends its process */
	{ .modes = MODE(exit), .states = STATE(disk_sleep), .wakers = WAKER_STORAGE,
	  THEN(disk, "ends by a signal: writes a core, or gives back files") },
	{ .modes = MODE(exit), THEN(other, "ends by a signal: gives back files and memory") },

	{ .modes = MODE(fault), THEN(fault, "page fault") },

	/* calls whose name determines the cause */
	{ .calls = CALL_SLEEP, THEN(timer, "sleeps") },
	{ .calls = CALL_SELECT_NONE, .arg0 = ARG_ZERO, .wakers = WAKER_TIMER,
	  THEN(timer, "waits for no file: sleeps") },
	{ .calls = CALL_SELECT_NONE, .arg0 = ARG_ENDLESS,
	  THEN(ipc, "waits for no file and no time: for a signal") },
	{ .calls = CALL_SELECT_NONE, .arg0 = ARG_ZERO, .wakers = WAKER_NOT_SEEN | WAKER_NOT_KNOWN,
	  THEN(timer, "waits for no file: sleeps") },
	{ .calls = CALL_SELECT_NONE, .arg0 = ARG_ZERO,
	  THEN(ipc, "waits for no file: a signal came") },
	{ .calls = CALL_FUTEX, .states = STATE(disk_sleep), .wakers = ~WAKER_TASK,
	  THEN(fault, "the futex's page") },
	{ .calls = CALL_FUTEX, .wakers = WAKER_TIMER, THEN(timer, "futex timed out") },
	{ .calls = CALL_FUTEX, .arg0 = ARG_JOIN, THEN(child, "waits for the end of a thread") },
	{ .calls = CALL_FUTEX, .arg0 = ARG_IN_REQUEST,
	  THEN(lock, "futex, in the middle of a request") },
	{ .calls = CALL_FUTEX, THEN(lock, "futex") },
	{ .calls = CALL_FILE_LOCK, .wakers = WAKER_STORAGE, .states = STATE(disk_sleep),
	  THEN(disk, "file metadata") },
	{ .calls = CALL_FILE_LOCK, THEN(lock, "file lock") },
	{ .calls = CALL_CHILD, THEN(child, "waits for a child") },
	{ .calls = CALL_VFORK, THEN(child, "vfork: until the child executes or ends") },
	{ .calls = CALL_CLONE, .arg0 = ARG_VFORK,
	  THEN(child, "vfork: until the child executes or ends") },
	{ .calls = CALL_CLONE | CALL_FORK, .states = STATE(disk_sleep), .wakers = WAKER_STORAGE,
	  THEN(disk, "memory for the copy") },
	{ .calls = CALL_CLONE | CALL_FORK, THEN(lock, "locks of the process that is copied") },
	{ .calls = CALL_SIGNAL, .wakers = WAKER_TIMER,
	  THEN(timer, "signal of a timer, or timed out") },
	{ .calls = CALL_SIGNAL, THEN(ipc, "waits for a signal") },
	{ .calls = CALL_MESSAGE, .wakers = WAKER_TIMER,
	  THEN(timer, "queue or semaphore timed out") },
	{ .calls = CALL_MESSAGE, THEN(ipc, "message queue or semaphore") },
	{ .calls = CALL_END, .states = STATE(disk_sleep), .wakers = WAKER_STORAGE,
	  THEN(disk, "ends: gives back files") },
	{ .calls = CALL_END, THEN(other, "ends: gives back files and memory") },

	/* calls that wait for many things: the waker determines the cause */
	{ .calls = CALL_AIO, .wakers = WAKER_NOT_SEEN | WAKER_NOT_KNOWN,
	  THEN(disk, "asynchronous I/O") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_NETWORK_SOCKET,
	  THEN(network, "data of a socket came") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_LOCAL_SOCKET,
	  THEN(ipc, "data of a local peer came") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_KERNEL_SOCKET,
	  THEN(other, "a message of the kernel came") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_NO_DEVICE,
	  THEN(other, "done by the kernel or a terminal") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_TIMER,
	  THEN(timer, "timed out, or a timerfd expired") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_NETWORK_IRQ,
	  THEN(network, "woken by network traffic") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_BLOCK_IRQ,
	  THEN(disk, "woken by a block device") },
	{ .calls = CALL_RING, .wakers = WAKER_IRQ | WAKER_KERNEL_THREAD,
	  THEN(disk, "an I/O of the ring completed") },
	{ .calls = CALL_POLL, .arg0 = ARG_IN_REQUEST, .wakers = WAKER_TASK,
	  THEN(ipc, "in the middle of a request: woken by another thread") },
	{ .calls = CALL_POLL, .arg0 = ARG_IN_REQUEST, .wakers = WAKER_NOT_SEEN,
	  THEN(other, "in the middle of a request: waits for events") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_TASK,
	  THEN(ipc, "woken by another thread: pipe, eventfd, signal") },
	{ .calls = CALL_POLL, .wakers = WAKER_IRQ | WAKER_KERNEL_THREAD,
	  THEN(other, "woken by a device") },
	{ .calls = CALL_POLL | CALL_RING, .wakers = WAKER_NOT_SEEN,
	  THEN(other, "waits for events") },
	{ .calls = CALL_POLL | CALL_RING, THEN(unknown, "what woke it could not be told") },

	/* calls on two files: the waker determines the cause */
	{ .calls = CALL_SEND_FILE, .wakers = WAKER_BLOCK_IRQ,
	  THEN(disk, "storage of what it moves") },
	{ .calls = CALL_SEND_FILE, .wakers = WAKER_NETWORK_SOCKET | WAKER_NETWORK_IRQ,
	  THEN(network, "data or room of a network socket came") },
	{ .calls = CALL_SEND_FILE, .wakers = WAKER_LOCAL_SOCKET,
	  THEN(ipc, "data or room of a pipe or Unix socket came") },
	{ .calls = CALL_SPLICE, .states = STATE(sleep), .wakers = WAKER_TASK,
	  THEN(ipc, "its pipe: another thread came") },
	{ .calls = CALL_SPLICE, .states = STATE(sleep),
	  .kinds = KINDS_STORAGE | KIND(memory_fs) | KIND(network_fs),
	  THEN(ipc, "its pipe: has no data or no room") },

	/* calls whose file is not the file that they read */
	{ .calls = CALL_PAGES, .states = STATE(disk_sleep), .wakers = WAKER_READ,
	  THEN(disk, "reads memory from storage") },

	/* calls on files: the kind of the file determines the cause */
	{ .kinds = KIND(network_fs), THEN(network, "file of another machine") },
	{ .kinds = KIND(pseudo), THEN(other, "file of the kernel (procfs, sysfs, cgroupfs)") },
	{ .calls = CALL_SEND_FILE, .states = STATE(disk_sleep), THEN(disk, "reads what it sends") },
	{ .kinds = KINDS_NETWORK, THEN(network, "network socket") },
	{ .kinds = KINDS_LOCAL, THEN(ipc, "pipe, eventfd or Unix socket") },
	{ .kinds = KIND(signalfd), THEN(ipc, "waits for a signal") },
	{ .kinds = KIND(inotify) | KIND(fanotify),
	  THEN(ipc, "waits until another program changes files") },
	{ .kinds = KIND(timerfd), THEN(timer, "timerfd") },
	{ .kinds = KIND(netlink), THEN(other, "socket to the kernel") },
	{ .kinds = KIND(memory_fs), THEN(other, "file in memory") },
	{ .kinds = KIND(tty), THEN(other, "terminal") },
	{ .kinds = KIND(character) | KIND(null), THEN(other, "character device") },
	{ .calls = CALL_PATH, .states = STATE(sleep),
	  THEN(ipc, "opens what another program holds up: a FIFO, a lease") },
	{ .calls = CALL_AIO, THEN(disk, "asynchronous I/O") },
	{ .calls = CALL_SYNC, THEN(disk, "writes back to storage") },
	{ .calls = CALL_FILLS, .states = STATE(disk_sleep), .wakers = WAKER_READ,
	  THEN(disk, "fills memory from storage") },
	{ .calls = CALL_MEMORY, .states = STATE(disk_sleep), .wakers = WAKER_STORAGE,
	  THEN(disk, "memory of a file: its storage") },
	{ .calls = CALL_MEMORY, .states = STATE(disk_sleep), .wakers = WAKER_TIMER,
	  THEN(other, "memory limit: slowed down, or waits until memory is free") },
	{ .calls = CALL_MEMORY, .wakers = WAKER_NOT_SEEN | WAKER_NOT_KNOWN,
	  THEN(unknown, "the memory map, or what fills it") },
	{ .calls = CALL_MEMORY, THEN(lock, "lock of the memory map") },
	{ .kinds = KINDS_STORAGE, THEN(disk, "file on storage") },
	{ .calls = CALL_PATH, .wakers = WAKER_TASK,
	  THEN(other, "inside the kernel, for another thread") },
	{ .calls = CALL_PATH, THEN(disk, "looks up a path") },

	/* any other call */
	{ .modes = MODE(syscall), .wakers = WAKER_NETWORK_SOCKET | WAKER_NETWORK_IRQ,
	  THEN(network, "woken by network traffic") },
	{ .modes = MODE(syscall), .states = STATE(disk_sleep), .wakers = WAKER_STORAGE,
	  THEN(disk, "woken by a device") },
	{ .modes = MODE(syscall), .wakers = WAKER_TIMER, THEN(timer, "until a time") },
	{ .modes = MODE(syscall), THEN(other, "inside the kernel") },
	{ THEN(unknown, "not known") },
};
/* clang-format on */

#define RULES (sizeof(rules) / sizeof(rules[0]))

/* ---- from a query to the conditions of rules ---- */

#define CALL(name) [SYSCALL_NR_##name]

static const u32 call_groups[SYSCALL_TABLE_SIZE] = {
	CALL(poll) = CALL_POLL | CALL_SELECT_NONE,
	CALL(ppoll) = CALL_POLL | CALL_SELECT_NONE,
	CALL(select) = CALL_POLL | CALL_SELECT_NONE,
	CALL(pselect6) = CALL_POLL | CALL_SELECT_NONE,
	CALL(epoll_wait) = CALL_POLL,
	CALL(epoll_pwait) = CALL_POLL,
	CALL(epoll_pwait2) = CALL_POLL,
	/* the model gives the restarted call; without it, it is one of these or a sleep */
	CALL(restart_syscall) = CALL_POLL,
	CALL(io_uring_enter) = CALL_RING,
	CALL(futex) = CALL_FUTEX,
	CALL(futex_wait) = CALL_FUTEX,
	CALL(futex_waitv) = CALL_FUTEX,
	CALL(futex_wake) = CALL_FUTEX,
	CALL(futex_requeue) = CALL_FUTEX,
	CALL(nanosleep) = CALL_SLEEP,
	CALL(clock_nanosleep) = CALL_SLEEP,
	CALL(wait4) = CALL_CHILD,
	CALL(waitid) = CALL_CHILD,
	CALL(clone) = CALL_CLONE,
	CALL(fork) = CALL_FORK,
	CALL(vfork) = CALL_VFORK,
	CALL(clone3) = CALL_VFORK,
	CALL(pause) = CALL_SIGNAL,
	CALL(rt_sigsuspend) = CALL_SIGNAL,
	CALL(rt_sigtimedwait) = CALL_SIGNAL,
	CALL(semop) = CALL_MESSAGE,
	CALL(semtimedop) = CALL_MESSAGE,
	CALL(msgsnd) = CALL_MESSAGE,
	CALL(msgrcv) = CALL_MESSAGE,
	CALL(mq_timedsend) = CALL_MESSAGE,
	CALL(mq_timedreceive) = CALL_MESSAGE,
	CALL(fsync) = CALL_SYNC,
	CALL(fdatasync) = CALL_SYNC,
	CALL(sync) = CALL_SYNC,
	CALL(syncfs) = CALL_SYNC,
	CALL(sync_file_range) = CALL_SYNC,
	CALL(msync) = CALL_SYNC,
	CALL(io_getevents) = CALL_AIO | CALL_RING,
	CALL(io_pgetevents) = CALL_AIO | CALL_RING,
	CALL(io_submit) = CALL_AIO,
	CALL(io_destroy) = CALL_AIO,
	CALL(flock) = CALL_FILE_LOCK,
	CALL(fcntl) = CALL_FILE_LOCK,
	CALL(sendfile) = CALL_SEND_FILE,
	CALL(splice) = CALL_SEND_FILE | CALL_SPLICE,
	CALL(vmsplice) = CALL_PAGES,
	CALL(process_vm_readv) = CALL_PAGES,
	CALL(process_vm_writev) = CALL_PAGES,
	CALL(process_madvise) = CALL_PAGES,
	CALL(ptrace) = CALL_PAGES,
	CALL(mmap) = CALL_FILLS,
	CALL(mremap) = CALL_FILLS,
	CALL(madvise) = CALL_FILLS,
	CALL(mlock) = CALL_FILLS,
	CALL(mlock2) = CALL_FILLS,
	CALL(mlockall) = CALL_FILLS,
	CALL(remap_file_pages) = CALL_FILLS,
	CALL(mbind) = CALL_FILLS,
	CALL(migrate_pages) = CALL_FILLS,
	CALL(move_pages) = CALL_FILLS,
	CALL(copy_file_range) = CALL_SEND_FILE,
	CALL(exit) = CALL_END,
	CALL(exit_group) = CALL_END,
};

#define ROW(nr, name, nargs, fd, classes, kinds) [nr] = (classes),
static const u8 call_classes[SYSCALL_TABLE_SIZE] = {RECORD_SYSCALLS(ROW)};
#undef ROW

/* number + 1 of the native call for a 32-bit call; 0: none */
#define ROW(nr, name, native) [nr] = (native) + 1,
static const u16 call_native[SYSCALL_COMPAT_TABLE_SIZE] = {RECORD_SYSCALLS_COMPAT(ROW)};
#undef ROW

#define ROW(call, name, native) [call] = (native),
static const u16 socket_native[SYSCALL_SOCKETCALLS] = {RECORD_SOCKETCALLS(ROW)};
#undef ROW

static u32 query_calls(const struct cause_query *q)
{
	unsigned int nr = q->nr;
	u32 calls;

	if (q->mode != MODE_syscall)
		return 0;
	if (q->abi_flags & SYSCALL_COMPAT) {
		if (nr == SYSCALL_COMPAT_NR_socketcall && q->arg0 > 0 &&
		    q->arg0 < SYSCALL_SOCKETCALLS)
			nr = socket_native[q->arg0];
		else if (nr < SYSCALL_COMPAT_TABLE_SIZE && call_native[nr])
			nr = call_native[nr] - 1u;
		else
			return 0;
	}
	if (nr >= SYSCALL_TABLE_SIZE)
		return 0;
	calls = call_groups[nr];
	if (call_classes[nr] & SC_FILE)
		calls |= CALL_PATH;
	if (call_classes[nr] & SC_MEMORY)
		calls |= CALL_MEMORY;
	return calls;
}

static u32 file_waker(const struct file_ref *file)
{
	u32 kind = file->kind < 32 ? 1u << file->kind : 0;

	if (kind & KINDS_NETWORK)
		return WAKER_NETWORK_SOCKET;
	if (kind & KINDS_LOCAL)
		return WAKER_LOCAL_SOCKET;
	if (kind & KIND(netlink))
		return WAKER_KERNEL_SOCKET;
	if (kind & KIND(timerfd))
		return WAKER_TIMER;
	if (kind & KIND(network_fs))
		return WAKER_NETWORK_IRQ;
	if (kind & (KIND(memory_fs) | KIND(pseudo) | KIND(tty) | KIND(character) | KIND(null)))
		return WAKER_NO_DEVICE;
	return 0;
}

/* The numbers of the kernel's softirqs; the others are other deferred work. */
static const u16 vector_wakers[] = {
	[1] = WAKER_TIMER,     [2] = WAKER_NETWORK_IRQ, [3] = WAKER_NETWORK_IRQ,
	[4] = WAKER_BLOCK_IRQ, [5] = WAKER_BLOCK_IRQ,	[8] = WAKER_TIMER,
	[9] = WAKER_NO_DEVICE,
};

static const u16 context_wakers[] = {
	[WAKE_task] = WAKER_TASK,	  [WAKE_softirq] = WAKER_IRQ,
	[WAKE_hardirq] = WAKER_IRQ,	  [WAKE_timer] = WAKER_TIMER,
	[WAKE_unknown] = WAKER_NOT_KNOWN, [WAKE_kernel_thread] = WAKER_KERNEL_THREAD,
};

static u32 query_waker(const struct cause_query *q)
{
	const size_t vectors = sizeof(vector_wakers) / sizeof(vector_wakers[0]);
	const size_t contexts = sizeof(context_wakers) / sizeof(context_wakers[0]);
	u32 waker;

	if (!q->has_waker)
		return WAKER_NOT_SEEN;
	waker = q->waker_block ? WAKER_BLOCK_IRQ : file_waker(&q->waker_file);
	if (waker)
		return waker;
	if (q->waker_context == WAKE_softirq && q->waker_vector < vectors &&
	    vector_wakers[q->waker_vector])
		return vector_wakers[q->waker_vector];
	return q->waker_context < contexts ? context_wakers[q->waker_context] : WAKER_NOT_KNOWN;
}

#define CLONE_VFORK_FLAG 0x4000

#define FUTEX_OPERATION 127u
#define FUTEX_PRIVATE 128u
#define FUTEX_WAIT 0
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_VALUES 3u /* of locks; tids of threads that can be waited for are greater */

/*
 * Whether it waits for the end of a thread, as pthread_join() does: for a word that the kernel
 * clears, not only for this process, and that has the tid until then.
 */
static bool futex_is_join(const struct cause_query *q)
{
	u32 operation = (u32)(q->file.key >> 32), value = (u32)q->file.key;
	u32 command = operation & FUTEX_OPERATION;

	return !q->file.kind && q->file.flags & FILE_NONE_FUTEX && !(operation & FUTEX_PRIVATE) &&
	       (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) &&
	       value > FUTEX_LOCK_VALUES && value <= INT32_MAX;
}

static bool arg0_fits(u8 want, const struct cause_query *q)
{
	switch (want) {
	case ARG_ANY:
		return true;
	case ARG_ZERO:
		return q->arg0 == 0;
	case ARG_ENDLESS:
		return q->arg0 == 0 && q->file.kind == 0 && q->file.flags & FILE_NONE_ENDLESS;
	case ARG_JOIN:
		return futex_is_join(q);
	case ARG_REQUEST:
		return q->file.kind || q->file.flags & FILE_NONE_REQUEST;
	case ARG_IN_REQUEST:
		return q->file.flags & FILE_IN_REQUEST;
	default:
		return q->arg0 & CLONE_VFORK_FLAG;
	}
}

static bool mask_fits(u32 want, u32 is)
{
	return !want || (want & is);
}

/* A query as the conditions of rules ask for it. */
struct cause_asked {
	u32 calls, wakers;
	u8 mode, state, kind; /* numbers, at most RULE_NONE */
	u8 args;	      /* bits 1 << ARG_* */
};

static struct cause_asked query_asked(const struct cause_query *q)
{
	bool has_file = q->mode == MODE_syscall || q->mode == MODE_kernel_thread;
	struct cause_asked a = {.calls = query_calls(q),
				.wakers = query_waker(q),
				.mode = rule_number(q->mode),
				.state = rule_number(q->leave_state),
				.kind = rule_number(has_file ? q->file.kind : RULE_NONE)};

	for (u8 arg = 0; arg < ARGS; arg++)
		a.args |= (u8)(arg0_fits(arg, q) << arg);
	return a;
}

static u64 asked_key(const struct cause_asked *a)
{
	_Static_assert(CALL_FILLS < 1 << 21 && WAKER_NO_DEVICE < 1 << 12 && ARGS <= 8, "bits");
	return 1 | (u64)a->args << 1 | (u64)a->mode << 9 | (u64)a->state << 14 |
	       (u64)a->kind << 19 | (u64)a->wakers << 24 | (u64)a->calls << 36;
}

static size_t asked_search(const struct cause_asked *a)
{
	for (size_t i = 0; i < RULES - 1; i++) {
		const struct cause_rule *r = &rules[i];

		if (mask_fits(r->modes, rule_mask(a->mode)) && mask_fits(r->calls, a->calls) &&
		    mask_fits(r->kinds, rule_mask(a->kind)) &&
		    mask_fits(r->states, rule_mask(a->state)) && mask_fits(r->wakers, a->wakers) &&
		    a->args >> r->arg0 & 1)
			return i;
	}
	return RULES - 1;
}

size_t cause_rule_index(const struct cause_query *q)
{
	static _Thread_local struct rule_memo memo[1 << RULE_MEMO_BITS];
	struct cause_asked a = query_asked(q);
	u64 key = asked_key(&a);
	struct rule_memo *m = rule_memo_at(memo, key);

	if (m->key != key)
		*m = (struct rule_memo){key, (u32)asked_search(&a)};
	return m->rule;
}

size_t cause_rules_count(void)
{
	return RULES;
}

enum split_part cause_find(const struct cause_query *q, const char **reason)
{
	const struct cause_rule *rule = &rules[cause_rule_index(q)];

	if (reason)
		*reason = rule->reason;
	return rule->part;
}
