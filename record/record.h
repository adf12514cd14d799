/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The record contract: every fact that fathom captures, in one list.
 *
 * This header is included by kernel programs (bpf/) and by user space alike,
 * and includes nothing. From the list RECORD_KINDS and the field lists
 * RECORD_FIELDS_* come the structs below, their names and printers
 * (record/describe.c) and the CTF metadata and the chunk codec (src/chunk).
 *
 * A record has two layouts:
 *
 * 1. The slot layout is `struct record_<kind>`, a fixed struct written by a
 *    producer into a ring of 64-byte slots (ring.h). It begins with `struct
 *    record_head`. A producer may publish fewer slots than the struct fills:
 *    missing bytes read as zero. Therefore fields that are often zero come last.
 *
 * 2. The event layout is that of a chunk: a CTF 1.8 event, aligned to 4 bytes,
 *    only as large as its content. See src/chunk/format.h.
 *
 * Field macros, in the order of the slot layout:
 *   FIX(type, name, what)  an integer of its full size in both layouts
 *   VAR(type, name, what)  8 bytes in the slot; 0, 4 or 8 bytes in the event
 *   PAD(type, name)        explicit padding, in the slot layout only
 *   FILEREF(name, what)    struct file_ref; in the event an index (u16) into the packet's table
 *   CTXREF(name, what)     struct context; in the event an index (u16) into the packet's table
 *   TEXT(size, name, what) at most one, as the last field: `name_len` (u16, bytes
 *                          used) and `name[size]`; in the event as long as its content
 *
 * Values are persisted: kinds, fields (at the end of their list) and values
 * are only ever appended. Times and durations are nanoseconds of
 * CLOCK_MONOTONIC, sizes are bytes, unless the description says otherwise.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#ifndef __BPF__
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#else
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;
#endif

#define RECORD_CONTRACT_VERSION 3
#define RECORD_SLOT_BYTES 64
#define RECORD_MAX_SLOTS 72 /* the longest record: one with 4,096 bytes of text */

/* K(kind, value, what) */
#define RECORD_KINDS(K)                                                                            \
	K(clock, 1, "relation of the clocks at one instant")                                       \
	K(lost, 2, "records that were dropped before they reached a stream")                       \
	K(fork, 3, "a thread or process was made")                                                 \
	K(exec, 4, "a process runs another program")                                               \
	K(exit, 5, "a thread begins to end")                                                       \
	K(name, 6, "a thread changed its name")                                                    \
	K(process, 7, "snapshot of a process")                                                     \
	K(thread, 8, "snapshot of a thread")                                                       \
	K(switch, 9, "a CPU went from one thread to another")                                      \
	K(waking, 10, "a thread was made runnable")                                                \
	K(syscall, 11, "a system call, written at its exit")                                       \
	K(fd, 12, "a file descriptor came, was named or went")                                     \
	K(socket, 13, "the two addresses of a socket")                                             \
	K(fault, 14, "a page fault, written at its end")                                           \
	K(block, 15, "a block I/O, written at its completion")                                     \
	K(bytes, 16, "bytes that went through a connection")                                       \
	K(stack, 17, "a call stack")                                                               \
	K(mapping, 18, "an executable mapping of a process")                                       \
	K(event, 19, "a kernel tracepoint that the user chose")                                    \
	K(format, 20, "how to decode the payload of event records")                                \
	K(steal, 21, "time that the hypervisor took from a CPU")                                   \
	K(service, 22, "identity of an application process")                                       \
	K(span_begin, 23, "an application span begins")                                            \
	K(span_end, 24, "an application span ends")                                                \
	K(span_attach, 25, "a span became the active span of a thread")                            \
	K(span_detach, 26, "a thread has no active span any more")                                 \
	K(span_event, 27, "an annotation of a span at an instant")                                 \
	K(span_attribute, 28, "an attribute of a span or of its last event")                       \
	K(context_entry, 29, "a row of a packet's table of contexts")                              \
	K(file_entry, 30, "a row of a packet's table of files")                                    \
	K(gap, 31, "nothing was recorded from this begin to this time")                            \
	K(cgroup, 32, "the name of a cgroup")                                                      \
	K(cgroup_attach, 33, "a process moved to another cgroup")                                  \
	K(thread_entry, 34,                                                                        \
	  "a row of a packet's table of threads: head.tid belongs to this process")                \
	K(filter, 35, "what this recording leaves out, as it was asked to")                        \
	K(path, 36,                                                                                \
	  "the path that a system call was asked for; stands before that call's record, of older " \
	  "recorders behind it")                                                                   \
	K(uring, 37, "a request to an io_uring, written at its completion")                        \
	K(sample, 38, "what a CPU ran at an instant, one of many in equal distances")              \
	K(cost, 39, "what the recording itself cost: one program, or processes")                   \
	K(peer, 40,                                                                                \
	  "who sent or got the message of a call, as it names it; stands before its record")       \
	K(device, 41, "the name of a block device")                                                \
	K(step, 42, "a budget changed the level of detail, or is not held")

enum record_kind {
#define K(kind, value, what) RECORD_##kind = value,
	RECORD_KINDS(K)
#undef K
};
#define RECORD_KIND_MAX 42

/*
 * All times are before this limit, more than a hundred years of uptime. Readers treat a later time
 * as damage. So the sum and the difference of two times never overflow.
 */
#define RECORD_TIME_END_NS (1ull << 62)

/* The kind of an open file: read from the kernel when the file is used. */
#define RECORD_FILE_KINDS(V)                                                                       \
	V(none, 0)                                                                                 \
	V(regular, 1)                                                                              \
	V(directory, 2)                                                                            \
	V(block, 3)                                                                                \
	V(character, 4)                                                                            \
	V(pipe, 5)                                                                                 \
	V(fifo, 6)                                                                                 \
	V(tcp, 7)                                                                                  \
	V(udp, 8)                                                                                  \
	V(unix, 9)                                                                                 \
	V(netlink, 10)                                                                             \
	V(socket_other, 11)                                                                        \
	V(eventfd, 12)                                                                             \
	V(timerfd, 13)                                                                             \
	V(signalfd, 14)                                                                            \
	V(epoll, 15)                                                                               \
	V(inotify, 16)                                                                             \
	V(pidfd, 17)                                                                               \
	V(io_uring, 18)                                                                            \
	V(anon_other, 19)                                                                          \
	V(pseudo, 20)                                                                              \
	V(network_fs, 21)                                                                          \
	V(memory_fs, 22)                                                                           \
	V(tty, 23)                                                                                 \
	V(null, 24)                                                                                \
	V(other, 25)                                                                               \
	V(fanotify, 26)
enum record_file_kind {
#define V(name, value) FILE_KIND_##name = value,
	RECORD_FILE_KINDS(V)
#undef V
};

/*
 * An open file. The key is the inode number; for a socket, the number in its name
 * socket:[N]. The kernel counts these with 32 bits, so a later socket can reuse a
 * number. A socket record with the same number begins another socket.
 */
struct file_ref {
	u64 key;
	u32 dev;   /* as in st_dev: major << 20 | minor; 0 for sockets */
	u16 kind;  /* enum record_file_kind */
	u16 flags; /* FILE_* below */
};
#define FILE_PEER_ON_HOST 1 /* the other end of the connection is on this host */
#define FILE_DIRECT 2	    /* opened with O_DIRECT */
#define FILE_DELETED 4	    /* the file has no name any more: readlink says (deleted) */
#define FILE_ASKED 512	    /* of a socket record: its peer is whom a connect asks for */
#define FILE_NONE_ENDLESS 8 /* with kind 0: a poll or select of no file, without a time-out */
#define FILE_LISTENS 16	    /* a socket that takes what anybody sends: see FILE_SIDES */
#define FILE_ACCEPTED 32    /* a connection that the other end made */
#define FILE_MADE 64	    /* a connection that this end made, or one of a pair of sockets */
/* with kind 0: a wait for a futex; key: FUTEX_KEY(); dev: tid of its owner, if its word tells it */
#define FILE_NONE_FUTEX 128
#define FILE_NONE_LEADER 256 /* with kind 0: the first process of a session or a pid namespace */
/* With kind 0: a worker of io_uring in a request without a file. */
#define FILE_NONE_REQUEST 1024
/* With kind 0, of a waking: the thread slept on the futex whose word has the address `key`. */
#define FILE_NONE_WORD 2048
/*
 * With a futex or an epoll for which a thread waits: it is in the middle of a request of a client.
 * Either it has read one and not answered yet, or it is the only thread of a process that has a
 * client, and no client can end this wait.
 */
#define FILE_IN_REQUEST 4096

/* The sides of a socket. One that listens, or a datagram socket with a name and no peer: LISTENS.
 */
#define FILE_SIDES (FILE_LISTENS | FILE_ACCEPTED | FILE_MADE)

/* The operation of a futex call, with its flags, and the value that it compares. */
#define FUTEX_KEY(operation, value) ((u64)(u32)(operation) << 32 | (u32)(value))

/* The active span of a thread; span id 0 means none. Ids are in W3C byte order. */
struct context {
	u8 trace[16];
	u8 span[8];
};

struct record_head {
	u32 seq; /* low 32 bits of the slot's position + 1, stored last (ring.h) */
	u8 kind;
	u8 slots;    /* how many 64-byte slots were published */
	u16 cpu;     /* CPU that wrote it; for application records 0xffff (in their ring:
			lib/app_ring.h) */
	u64 time_ns; /* CLOCK_MONOTONIC at which it happened, read after reserving */
	u32 tid;     /* the thread that the record is about, in the initial pid namespace */
	u32 pid; /* its process; 0 if unknown. A chunk has it in the packet's table of threads */
} __attribute__((packed, aligned(8)));

/* syscall.flags */
#define SYSCALL_COMPAT 1	/* a 32-bit call: nr is from syscalls_compat.h */
#define SYSCALL_BEGIN_UNKNOWN 2 /* the entry was not seen; duration is 0 */
#define SYSCALL_X32 4		/* an x32 call; nr is without the bit that marks it */
#define SYSCALL_BEGIN_SOFT 8	/* open when recording began: its begin is that instant */
/*
 * Also LEAVE_BEFORE_UNKNOWN and FAULT_BEFORE_UNKNOWN: the first record of the thread since its
 * calls are recorded. What it did on a CPU since its record before this one, up to the begin of
 * this call, is not known.
 */
#define SYSCALL_BEFORE_UNKNOWN 16

/* switch.state: why the thread left the CPU */
#define RECORD_LEAVE_STATES(V)                                                                     \
	V(preempted, 0)                                                                            \
	V(throttled, 1)                                                                            \
	V(sleep, 2)                                                                                \
	V(disk_sleep, 3)                                                                           \
	V(stopped, 4)                                                                              \
	V(traced, 5)                                                                               \
	V(dead, 6)                                                                                 \
	V(parked, 7)                                                                               \
	V(idle, 8)                                                                                 \
	V(frozen, 9)                                                                               \
	V(running, 10) /* it did not leave: a look found it running; next_tid is its own tid */    \
	V(untold, 11)  /* its span is over: from now on it is not recorded (--spans-only) */
enum record_leave_state {
#define V(name, value) LEAVE_##name = value,
	RECORD_LEAVE_STATES(V)
#undef V
};
#define LEAVE_MASK 63
/*
 * With switch.state: calls of head.tid were perhaps not recorded since its record before this one,
 * up to the begin of its call (since_ns) or, if that is not known, up to now.
 */
#define LEAVE_BEFORE_UNKNOWN 64
#define LEAVE_NEXT_UNCALLED 128 /* with switch.state: no calls of next_tid are recorded now */

/* switch.mode: where the thread was when it left the CPU */
#define RECORD_MODES(V) V(user, 0) V(syscall, 1) V(fault, 2) V(kernel_thread, 3) V(exit, 4)
enum record_mode {
#define V(name, value) MODE_##name = value,
	RECORD_MODES(V)
#undef V
};
#define MODE_MASK 15	 /* MODE_exit: it ends, outside of a syscall, for since_ns already */
#define MODE_COMPAT 16	 /* nr is from the table of 32-bit calls */
#define MODE_NEXT_OUT 64 /* the next thread is out of the scope of the recording */
#define MODE_PREV_OUT                                                                              \
	128 /* head.tid is out of scope: the record only says that next_tid got the CPU            \
	     */
#define MODE_IN_SYSCALL                                                                            \
	32 /* with MODE_fault: the fault is inside syscall nr, and since_ns is the syscall's */

/* waking.context: what kind of code woke the thread */
#define RECORD_WAKE_CONTEXTS(V)                                                                    \
	V(task, 0) V(softirq, 1) V(hardirq, 2) V(timer, 3) V(unknown, 4) V(kernel_thread, 5)
enum record_wake_context {
#define V(name, value) WAKE_##name = value,
	RECORD_WAKE_CONTEXTS(V)
#undef V
};

/*
 * With waking.context: the thread had not left its run queue. Then either it did so within some
 * microseconds, or the waking kept it from going to sleep and ended no sleep.
 */
#define WAKE_QUEUED 128
#define WAKE_OWN 32 /* with waking.context task: the waker is a thread of the same process */
#define WAKE_CONTEXT_MASK 31

/* waking.irq of an interrupt without a device: the CPU's own, for deferred work (irq_work) */
#define WAKE_IRQ_NONE 0xffff

/* waking.block: not 0, since no device has number 0 */
#define WAKE_BLOCK(dev, flags) ((u64)(dev) << 8 | ((flags)&255)) /* flags: BLOCK_* */
#define WAKE_BLOCK_DEV(block) ((u32)((block) >> 8))
#define WAKE_BLOCK_FLAGS(block) ((u32)(block)&255)

/* fork.flags, thread.flags */
#define THREAD_SHARES_FILES 1 /* fork: parent and child share one table of fds */
#define THREAD_IS_THREAD 2    /* not the leader of its process */
#define THREAD_KERNEL 4
#define THREAD_ON_CPU 8 /* thread: it was running at that instant */
#define THREAD_UNFOLLOWED                                                                          \
	16 /* thread: its switches and calls are not recorded until a span is active */

#define THREAD_ENTERS 32 /* thread: it entered the scope just then, and existed before */
#define THREAD_LATER 64	 /* thread: its state was read later, and may have been another one then */

/* exec.flags */
#define EXEC_BEGINS 1 /* the thread enters the scope with it */

/* cgroup_attach.flags */
#define CGROUP_LEFT_SCOPE 1
#define CGROUP_ENTERED_SCOPE 2
#define CGROUP_FOUND 4 /* a snapshot found the process in the cgroup */

/* filter.flags */
#define FILTER_SYSCALLS 1 /* some system calls are not recorded (--syscalls) */
#define FILTER_SPANS 2	  /* threads are recorded only under a span (--spans-only) */
#define FILTER_FOLLOWS 4  /* from then on head.pid is recorded completely under its spans */
#define FILTER_AGAIN 8	  /* FILTER_FOLLOWS repeated, for a chunk that is read alone */
#define FILTER_CALLS 16	  /* no calls and no faults are recorded (--detail waits) */
/*
 * The level of detail has changed in this recording: FILTER_CALLS holds from head.time_ns on. The
 * recorder sets the flag that its programs read just before that (calls are recorded), or just
 * behind (they are not any more).
 */
#define FILTER_DETAIL 32
/*
 * With it: the change is not complete. Programs begin to be attached at head.time_ns, or a record
 * of before had ended calls, and now all programs are detached.
 */
#define FILTER_TURNS 64
/*
 * With FILTER_CALLS: calls and faults of some threads are recorded, those in a scope at `calls`.
 * The records of a thread say so themselves (SYSCALL_BEFORE_UNKNOWN and the like).
 */
#define FILTER_SCOPES 128
/* No byte ranges are recorded from then on, which are at another level of this recording. */
#define FILTER_BYTES 256
/*
 * Byte ranges are recorded in turns (--budget): with FILTER_BYTES they are not now. It has nothing
 * to do with FILTER_TURNS.
 */
#define FILTER_BYTES_TURNS 512

/* fd.op */
#define RECORD_FD_OPS(V)                                                                           \
	V(snapshot, 0)                                                                             \
	V(open, 1) V(close, 2) V(dup, 3) V(close_range, 4) V(unshare, 5) V(cloexec, 6)
enum record_fd_op {
#define V(name, value) FD_##name = value,
	RECORD_FD_OPS(V)
#undef V
};
#define FD_CLOEXEC_SET 1 /* fd.flags */
#define FD_NAME_CUT 2	 /* the name did not fit and was cut at its begin */
#define FD_OWN_TABLE 4	 /* snapshot: the thread has another table than its process */
#define FD_MOUNTS 8	 /* see MOUNTS_BYTES */
/*
 * The number of the mount namespace in which a name holds, where it is not the recorder's: behind
 * the name stand a NUL and eight hexadecimal digits.
 */
#define MOUNTS_BYTES 9

/* path.flags */
#define PATH_CUT 1	   /* cut at its end; older recorders also cut the begin of the directory */
#define PATH_SECOND 2	   /* the call has two paths: this is the later argument */
#define PATH_ARRIVED 4	   /* a change of directory: the new directory, NUL, the given path */
#define PATH_FROM_FD 8	   /* without its directory, which is the call's descriptor */
#define PATH_BEGINS_CUT 16 /* the begin of its directory was cut */
#define PATH_MOUNTS 32	   /* see MOUNTS_BYTES */

/* uring.flags */
#define URING_BEGIN_UNKNOWN 1 /* its submission was not seen; duration is 0 */
#define URING_END_UNKNOWN 2   /* it asked for no completion: it ended before head.time_ns */
#define URING_SQPOLL 4	      /* submitted by the kernel's polling thread: its span is unknown */
#define URING_DIRECT 8	      /* fd is a slot of the ring's own table, not a descriptor */

/* step.from and step.to, each with its name in answers */
#define RECORD_STEP_LEVELS(V)                                                                      \
	V(waits, 0, "waits")                                                                       \
	V(calls, 1, "calls")                                                                       \
	V(waits_bytes, 2, "waits,bytes")                                                           \
	V(nothing, 3, "nothing") V(waits_bytes_turns, 4, "waits,bytes=1s/30s")
enum step_level {
#define V(name, value, text) STEP_LEVEL_##name = value,
	RECORD_STEP_LEVELS(V)
#undef V
		STEP_LEVELS
};

/* step.why */
#define RECORD_STEP_REASONS(V)                                                                     \
	V(none, 0)                                                                                 \
	V(above, 1)  /* down, since recording cost more than the budget */                         \
	V(below, 2)  /* up, since the higher level should fit */                                   \
	V(beyond, 3) /* no lower level is allowed, and the budget is not held */
enum step_why {
#define V(name, value) STEP_##name = value,
	RECORD_STEP_REASONS(V)
#undef V
};

/* cost.flags */
#define COST_PROGRAM 1 /* of a kernel program; else CPU time of processes */
#define COST_WRITES 2  /* the program writes the records of kind `made`; others prepare them */

/* fault.flags */
#define FAULT_USER 1
#define FAULT_MAJOR 2
#define FAULT_WRITE 4
#define FAULT_SOFT_END 8	/* its end was not seen: the thread's next record closed it */
#define FAULT_SIGNALLED 16	/* that was its signal: it was in the kernel until then */
#define FAULT_BEFORE_UNKNOWN 32 /* see SYSCALL_BEFORE_UNKNOWN */

/* fault.mapped: device, kind and flags as in struct file_ref; not 0, since there is a kind */
#define FAULT_MAPPED(dev, kind, flags) ((u64)(dev) << 32 | (u32)(kind) << 16 | (u16)(flags))
#define FAULT_MAPPED_DEV(mapped) ((u32)((mapped) >> 32))
#define FAULT_MAPPED_KIND(mapped) ((u16)((mapped) >> 16))
#define FAULT_MAPPED_FLAGS(mapped) ((u16)(mapped))

/* block.flags */
#define BLOCK_WRITE 1
#define BLOCK_FLUSH 2
#define BLOCK_DISCARD 4
#define BLOCK_WRITEBACK 8 /* issued by the kernel on behalf of a cgroup */
#define BLOCK_SYNC 16
#define BLOCK_FAILED 32

/*
 * stack.flags. The words are those at the top of a user stack; a word that does
 * not point into code is 0. If a function keeps no frame pointer, its return
 * address is among them.
 * Addresses of the kernel are given as if it had not been moved at boot (KASLR).
 */
#define STACK_KERNEL 1
#define STACK_USER 2
/*
 * The words are packed: a bit for each word, in as many u64 as that takes, then the words whose bit
 * is set. A word without a bit is 0. Of a record `stack`, the lower 16 bits of `words` are then the
 * number of words, and the upper ones the number of frames before them.
 */
#define STACK_PACKED 4
#define STACK_CUT 8	/* there may be more callers than the frames and words lead to */
#define STACK_UNSURE 16 /* of a sample: words may be absent that are addresses of code */
#define STACK_WORDS_MAX 1024

/*
 * bytes.light: a light thread is one that a program itself runs on threads of the kernel, as Go
 * does goroutines. Its number is that of its runtime. 0: the process has none, or it was not read.
 */
/* bytes.direction */
#define BYTES_SENT 0
#define BYTES_RECEIVED 1
#define BYTES_UNSURE 1	/* bytes.flags: `from` is a guess, or unknown */
#define BYTES_MESSAGE 2 /* bytes.flags: a datagram; `from`: its number in the receiver's queue */

/* lost.why */
#define RECORD_LOSSES(V) V(buffer, 1) V(recursion, 2) V(application, 3) V(damaged, 4)
enum record_loss {
#define V(name, value) LOST_##name = value,
	RECORD_LOSSES(V)
#undef V
};

/*
 * lost.count of a record that is in no stream: a reader delivers it where a loss begins. The `lost`
 * record that follows, of the same CPU, why, kind and begin, says how many records are missing.
 */
#define LOST_BEGINS (~0ull)

/* span_begin.flags: too many spans are active to make this one active: its time is not seen */
#define SPAN_TOO_DEEP 4

/* span_attribute.type */
#define RECORD_ATTRIBUTE_TYPES(V) V(string, 1) V(integer, 2) V(real, 3) V(boolean, 4)
enum record_attribute_type {
#define V(name, value) ATTRIBUTE_##name = value,
	RECORD_ATTRIBUTE_TYPES(V)
#undef V
};

/* ---- the fields of each kind; every list starts at byte 24 of its slot ---- */

#define RECORD_FIELDS_clock(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                  \
	FIX(u32, reason, "0 cut, 1 realtime was set, 2 begin of a recording")                      \
	FIX(u64, realtime_ns, "CLOCK_REALTIME at head.time_ns")                                    \
	FIX(u64, boottime_ns, "CLOCK_BOOTTIME at head.time_ns")                                    \
	FIX(u64, error_ns, "bound on the error of the relation")

/* head.pid and head.tid both are the application whose records were lost; for others they are 0. */
#define RECORD_FIELDS_lost(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	FIX(u16, why, "enum record_loss")                                                          \
	FIX(u16, lost_kind, "kind of the lost records, 0 if not known")                            \
	FIX(u64, count, "how many, since the stream's last such record")                           \
	FIX(u64, begin_ns, "they were lost between this and head.time_ns")

#define RECORD_FIELDS_fork(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	FIX(u32, parent_tid, "thread that made it")                                                \
	FIX(u32, parent_pid, "its process")                                                        \
	FIX(u64, start_ns, "start time of the new thread: its identity")                           \
	VAR(u64, cgroup, "kernfs id of its cgroup in the default hierarchy")                       \
	FIX(u32, flags, "THREAD_*")                                                                \
	TEXT(16, comm, "its name")

#define RECORD_FIELDS_exec(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	FIX(u32, old_tid, "tid of the thread that called execve")                                  \
	FIX(u32, flags, "EXEC_*")                                                                  \
	FIX(u64, start_ns, "start time of the leader")                                             \
	TEXT(1024, command, "name, executable, arguments: NUL after each")

#define RECORD_FIELDS_exit(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	FIX(s32, code, "exit code as wait reports it")                                             \
	FIX(u32, flags, "1: the whole process ends")

#define RECORD_FIELDS_name(FIX, VAR, PAD, FILEREF, CTXREF, TEXT) TEXT(16, comm, "the new name")

#define RECORD_FIELDS_process(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                \
	FIX(u32, parent_pid, "its parent; head.tid is the process")                                \
	FIX(u64, start_ns, "start time of the leader")                                             \
	FIX(u64, cgroup, "kernfs id of its cgroup, 0 if not known")                                \
	FIX(u32, uid, "real user id")                                                              \
	FIX(u32, files, "lowest pid that has the same table of fds")                               \
	TEXT(1024, command, "name, executable, arguments: NUL after each")

#define RECORD_FIELDS_thread(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                 \
	FIX(u64, start_ns, "its start time")                                                       \
	VAR(u64, since_ns, "how long ago the syscall or fault began, if known")                    \
	VAR(u64, arg0, "first argument of that syscall")                                           \
	FIX(u16, nr, "syscall that it is in")                                                      \
	FIX(u8, mode, "enum record_mode")                                                          \
	FIX(u8, state, "enum record_leave_state; unused with THREAD_ON_CPU")                       \
	FIX(u32, flags, "THREAD_*")                                                                \
	FILEREF(file, "file behind arg0")                                                          \
	CTXREF(ctx, "its active span")                                                             \
	TEXT(16, comm, "its name")

#define RECORD_FIELDS_switch(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                 \
	FIX(u32, next_tid, "the thread that runs from now on; 0 is idle")                          \
	FIX(u16, nr, "syscall that head.tid is in, with MODE_syscall or MODE_IN_SYSCALL")          \
	FIX(u8, mode, "enum record_mode, with MODE_* flags")                                       \
	FIX(u8, state, "enum record_leave_state")                                                  \
	VAR(u64, since_ns, "how long ago it left user mode; 0 in user mode or if not known")       \
	FILEREF(file, "file behind arg0")                                                          \
	VAR(u64, arg0, "first argument of that syscall, or address of the fault")                  \
	CTXREF(ctx, "its active span")

#define RECORD_FIELDS_waking(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                 \
	FIX(u32, waker_tid, "thread that ran on this CPU, the waker if context is task")           \
	FIX(u8, context, "enum record_wake_context")                                               \
	FIX(u8, vector, "softirq vector, with context softirq")                                    \
	FIX(u16, irq, "number of the hard interrupt, or 0xffff, with context hardirq")             \
	FILEREF(file, "socket whose data woke it, or file of what its waker did, if known; "       \
		      "FILE_NONE_WORD: word of the futex on which it slept")                       \
	VAR(u64, block, "WAKE_BLOCK of the block I/O whose completion woke it, if any")            \
	VAR(u64, fd, "1 + the descriptor of `file`, where it was ready in an epoll; 0: not known")

#define RECORD_FIELDS_syscall(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                \
	FIX(u16, nr, "number of the call")                                                         \
	FIX(u8, flags, "SYSCALL_*")                                                                \
	PAD(u8, pad)                                                                               \
	PAD(u32, pad2)                                                                             \
	VAR(u64, duration_ns, "since its begin")                                                   \
	VAR(s64, result, "what the kernel returned")                                               \
	VAR(u64, arg0, "arguments as the kernel got them")                                         \
	VAR(u64, arg1, "")                                                                         \
	VAR(u64, arg2, "")                                                                         \
	VAR(u64, arg3, "")                                                                         \
	VAR(u64, arg4, "")                                                                         \
	VAR(u64, arg5, "")                                                                         \
	FILEREF(file, "file behind the fd that it worked on")                                      \
	CTXREF(ctx, "the active span")

#define RECORD_FIELDS_fd(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                     \
	FIX(s32, fd, "the descriptor; of a range the first; -1: a file that has none")             \
	FIX(s32, from, "dup: the original; of a range the last; else -1")                          \
	FIX(u8, op, "enum record_fd_op")                                                           \
	FIX(u8, flags, "FD_*")                                                                     \
	PAD(u16, pad)                                                                              \
	FILEREF(file, "what it stands for")                                                        \
	TEXT(4096, path, "what readlink of /proc/PID/fd/N says")

#define RECORD_FIELDS_socket(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                 \
	FILEREF(file, "the socket")                                                                \
	FIX(u64, netns, "cookie of its network namespace")                                         \
	FIX(u16, family, "AF_*")                                                                   \
	FIX(u16, protocol, "IPPROTO_*")                                                            \
	FIX(u16, local_port, "host byte order")                                                    \
	FIX(u16, remote_port, "host byte order")                                                   \
	FIX(u64, local_hi, "local address, network byte order; IPv4 mapped into IPv6")             \
	FIX(u64, local_lo, "")                                                                     \
	FIX(u64, remote_hi, "address of the peer likewise")                                        \
	FIX(u64, remote_lo, "")                                                                    \
	VAR(u64, peer, "key of the other end, if it is on this host and was told before")          \
	TEXT(108, path, "address of a Unix socket")

#define RECORD_FIELDS_fault(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                  \
	FIX(u32, flags, "FAULT_*")                                                                 \
	PAD(u32, pad)                                                                              \
	VAR(u64, duration_ns, "since its begin")                                                   \
	VAR(u64, address, "that faulted")                                                          \
	VAR(u64, ip, "instruction that faulted")                                                   \
	CTXREF(ctx, "the active span")                                                             \
	VAR(u64, mapped, "FAULT_MAPPED of the file that was read, if the fault is major, or 0")    \
	VAR(u64, inode, "of that file")                                                            \
	VAR(u64, offset, "of the page in that file")

#define RECORD_FIELDS_block(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                  \
	FIX(u32, dev, "device, as in st_dev")                                                      \
	FIX(u32, bytes, "size")                                                                    \
	VAR(u64, duration_ns, "from issue to completion")                                          \
	VAR(u64, queued_ns, "from the thread's submission to the issue")                           \
	VAR(u64, sector, "in units of 512 bytes")                                                  \
	FIX(u32, flags, "BLOCK_*")                                                                 \
	PAD(u32, pad)                                                                              \
	VAR(u64, cgroup, "of the bio, for writeback")                                              \
	CTXREF(ctx, "the active span of head.tid when it submitted")

#define RECORD_FIELDS_bytes(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                  \
	FIX(u8, direction, "BYTES_SENT or BYTES_RECEIVED")                                         \
	FIX(u8, flags, "BYTES_*")                                                                  \
	PAD(u16, pad)                                                                              \
	PAD(u32, pad2)                                                                             \
	VAR(u64, from, "first byte, counted from the connection's begin")                          \
	VAR(u64, length, "bytes")                                                                  \
	FILEREF(file, "the socket")                                                                \
	CTXREF(ctx, "the active span")                                                             \
	VAR(u64, light, "number of the light thread (goroutine) that sent or received, 0: none")   \
	VAR(u64, light_maker, "number of the light thread that made that one, 0: not known")

#define RECORD_FIELDS_stack(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                  \
	FIX(u32, flags, "STACK_*")                                                                 \
	FIX(u32, words, "how many u64 at the end of frames are words of the stack")                \
	FIX(u64, since_ns, "it was the same from then until head.time_ns")                         \
	TEXT(1024, frames, "addresses, u64 each, innermost first, then the words")

#define RECORD_FIELDS_sample(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                 \
	FIX(u32, flags, "STACK_*")                                                                 \
	FIX(u16, kernel, "how many u64 of frames are of the kernel; they come first")              \
	FIX(u16, user, "how many u64 behind them are of the program")                              \
	FIX(u16, words, "how many words of its stack are given behind these, packed")              \
	PAD(u16, pad)                                                                              \
	PAD(u32, pad2)                                                                             \
	VAR(u64, period_ns, "time on the CPU that the sample stands for")                          \
	CTXREF(ctx, "the active span")                                                             \
	TEXT(3072, frames, "addresses, u64 each, innermost first, then the packed words")

/*
 * The identity of a mapped file is its build id in hex, or a text that begins with a word and a
 * colon (src/elf/identity.h). It is empty if it is unknown. It must fit after the path.
 */
#define RECORD_MAPPING_PATH 900 /* longer paths are not recorded */
/* The path of a function that the program made as it ran. Its name stands behind an empty identity.
 */
#define RECORD_MAPPING_JIT "[jit]"

#define RECORD_FIELDS_mapping(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                \
	FIX(u64, begin, "first address")                                                           \
	FIX(u64, end, "first address behind it")                                                   \
	FIX(u64, offset, "of begin in the file")                                                   \
	FIX(u64, since_ns, "it was seen then; 0: it was always there")                             \
	FILEREF(file, "the file; none with a function of the kernel")                              \
	TEXT(1024, path, "path, NUL, identity; or [kernel] or [jit], NUL, NUL, function")

#define RECORD_FIELDS_event(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                  \
	FIX(u32, format, "id of its format record")                                                \
	CTXREF(ctx, "the active span")                                                             \
	TEXT(2048, payload, "as the tracepoint's format describes it")

#define RECORD_FIELDS_format(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                 \
	FIX(u32, format, "id")                                                                     \
	TEXT(4096, text, "subsystem:name, NUL, the format file of tracefs")

#define RECORD_FIELDS_steal(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                  \
	FIX(u32, of_cpu, "the CPU")                                                                \
	FIX(u64, steal_ns, "taken since the previous such record")                                 \
	FIX(u64, begin_ns, "time of that record")

#define RECORD_FIELDS_service(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                \
	TEXT(1024, resource, "key, NUL, value, NUL, for each attribute of the resource")

#define RECORD_FIELDS_span_begin(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                             \
	FIX(u8, span_kind, "0 internal, 1 server, 2 client, 3 producer, 4 consumer")               \
	FIX(u8, level, "severity, 0 emergency to 7 debug")                                         \
	FIX(u8, flags, "1: active on head.tid from now on; 2: the parent is remote; SPAN_*")       \
	PAD(u8, pad)                                                                               \
	PAD(u32, pad2)                                                                             \
	FIX(u64, parent, "span id of the parent, as in context.span; 0: a root")                   \
	CTXREF(ctx, "the new span")                                                                \
	TEXT(512, name, "of the span")

#define RECORD_FIELDS_span_end(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                               \
	FIX(u8, status, "0 unset, 1 ok, 2 error")                                                  \
	FIX(u8, flags, "1: next is active on head.tid from now on")                                \
	PAD(u16, pad)                                                                              \
	CTXREF(ctx, "the span that ends")                                                          \
	CTXREF(next, "the span active on head.tid from now on")                                    \
	TEXT(512, message, "description of the status")

#define RECORD_FIELDS_span_attach(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                            \
	CTXREF(ctx, "the span that is active on head.tid from now on")

#define RECORD_FIELDS_span_detach(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                            \
	CTXREF(ctx, "the span that was active on head.tid until now")

#define RECORD_FIELDS_span_event(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                             \
	FIX(u8, level, "severity, 0 emergency to 7 debug")                                         \
	PAD(u8, pad)                                                                               \
	PAD(u16, pad2)                                                                             \
	CTXREF(ctx, "the span that it belongs to")                                                 \
	TEXT(512, name, "of the event")

#define RECORD_FIELDS_span_attribute(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                         \
	FIX(u8, type, "enum record_attribute_type")                                                \
	FIX(u8, of_event, "1: of the span's last event, 0: of the span")                           \
	FIX(u16, key_len, "bytes of the key in text")                                              \
	FIX(u64, value, "integer, bits of the double, or boolean")                                 \
	CTXREF(ctx, "the span")                                                                    \
	TEXT(1024, text, "the key, then the value if it is a string; no NULs")

#define RECORD_FIELDS_context_entry(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                          \
	FIX(u32, index, "its number in the packet, from 1")                                        \
	FIX(u64, trace_hi, "first 8 bytes of the trace id, big endian")                            \
	FIX(u64, trace_lo, "last 8 bytes")                                                         \
	FIX(u64, span, "span id, big endian")

#define RECORD_FIELDS_file_entry(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                             \
	FIX(u32, index, "its number in the packet, from 1")                                        \
	FIX(u64, key, "inode number")                                                              \
	FIX(u32, dev, "device")                                                                    \
	FIX(u16, file_kind, "enum record_file_kind")                                               \
	FIX(u16, flags, "FILE_*")

#define RECORD_FIELDS_thread_entry(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                           \
	FIX(u32, process,                                                                          \
	    "stands before the first record of head.tid in the packet, and again if it changes")

#define RECORD_FIELDS_gap(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                    \
	FIX(u64, begin_ns, "begin of the gap; head.time_ns is its end")

#define RECORD_FIELDS_cgroup(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                 \
	FIX(u32, hierarchy, "0 for v2, else the number of the v1 hierarchy")                       \
	FIX(u64, id, "kernfs id")                                                                  \
	TEXT(1024, path, "in its hierarchy")

#define RECORD_FIELDS_device(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                 \
	FIX(u32, dev, "major number << 20 | minor number")                                         \
	TEXT(32, name, "of the kernel: vda1")

#define RECORD_FIELDS_cgroup_attach(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                          \
	FIX(u64, cgroup, "kernfs id of the cgroup it is in now")                                   \
	FIX(u32, hierarchy, "0 for v2, else the number of the v1 hierarchy")                       \
	FIX(u32, flags,                                                                            \
	    "CGROUP_*: with that the thread left the scope, or came into it; or was there")

#define RECORD_FIELDS_filter(FIX, VAR, PAD, FILEREF, CTXREF, TEXT) FIX(u32, flags, "FILTER_*")

#define RECORD_FIELDS_path(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	FIX(u64, call_ns, "when the call began")                                                   \
	FIX(u16, nr, "number of the call")                                                         \
	FIX(u16, flags, "PATH_*")                                                                  \
	FIX(u64, asked, "where in `path` that begins what was asked")                              \
	PAD(u64, pad2)                                                                             \
	TEXT(4096, path,                                                                           \
	     "the directory that a relative one started from, a slash, and what was asked")

#define RECORD_FIELDS_uring(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                  \
	FIX(u8, opcode, "IORING_OP_*")                                                             \
	FIX(u8, flags, "URING_*")                                                                  \
	PAD(u16, pad)                                                                              \
	FIX(s32, fd, "what it works on, or -1; with URING_DIRECT a slot")                          \
	VAR(u64, duration_ns, "since its submission by head.tid")                                  \
	FIX(s32, result, "of the completion: an error if negative")                                \
	FIX(u32, submit_flags, "IOSQE_*")                                                          \
	FILEREF(file, "what it worked on")                                                         \
	CTXREF(ctx, "the active span of the submitter")

#define RECORD_FIELDS_cost(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	FIX(u64, begin_ns, "since then")                                                           \
	FIX(u64, cost_ns, "CPU time; of a program without what its measurement takes")             \
	FIX(u64, runs, "of the program")                                                           \
	FIX(u64, measured_ns,                                                                      \
	    "the time in which runs were measured, from which the others follow")                  \
	FIX(u16, made, "kind of the records that the program writes or prepares, 0: none")         \
	FIX(u16, flags, "COST_*")                                                                  \
	TEXT(48, name, "of the program, or what the processes do")

#define RECORD_FIELDS_peer(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	FIX(u64, call_ns, "when the call began")                                                   \
	FILEREF(file, "the socket")                                                                \
	FIX(u64, netns, "cookie of its network namespace")                                         \
	FIX(u16, family, "AF_* of the address")                                                    \
	FIX(u16, port, "host byte order")                                                          \
	PAD(u32, pad)                                                                              \
	FIX(u64, address_hi, "network byte order; IPv4 mapped into IPv6")                          \
	FIX(u64, address_lo, "")                                                                   \
	TEXT(108, path, "address of a Unix socket")

/* Shares of the host's CPU time are in millionths. */
#define RECORD_FIELDS_step(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	FIX(u8, from, "enum step_level")                                                           \
	FIX(u8, to, "enum step_level")                                                             \
	FIX(u8, why, "enum step_why")                                                              \
	PAD(u8, pad)                                                                               \
	FIX(u32, budget_ppm, "what recording may cost in the mean of ten seconds")                 \
	FIX(u32, cost_ppm,                                                                         \
	    "what it cost in the mean since the step before, of ten seconds at most")              \
	FIX(u32, predicted_ppm, "what it should cost from now on; 0: not known")

/* ---- the structs ---- */

#define RECORD_STRUCT_INT(type, name, what) type name;
#define RECORD_STRUCT_PAD(type, name) type name;
#define RECORD_STRUCT_FILE(name, what) struct file_ref name;
#define RECORD_STRUCT_CTX(name, what) struct context name;
#define RECORD_STRUCT_TEXT(size, name, what)                                                       \
	u16 name##_len;                                                                            \
	char name[size];

#define RECORD_APPLY(kind, FIX, VAR, PAD, FILEREF, CTXREF, TEXT)                                   \
	RECORD_FIELDS_##kind(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)

/*
 * Packed, so that the layout is exactly that of the list. The asserts in layout.h
 * check that 8-byte fields of records written on hot paths are aligned.
 */
#define K(kind, value, what)                                                                       \
	struct record_##kind {                                                                     \
		struct record_head head;                                                           \
		RECORD_FIELDS_##kind(RECORD_STRUCT_INT, RECORD_STRUCT_INT, RECORD_STRUCT_PAD,      \
				     RECORD_STRUCT_FILE, RECORD_STRUCT_CTX, RECORD_STRUCT_TEXT)    \
	} __attribute__((packed, aligned(8)));
RECORD_KINDS(K)
#undef K

#ifndef __cplusplus
#include "record/layout.h"
#endif

#endif
