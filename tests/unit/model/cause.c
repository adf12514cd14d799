/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of the table of causes: what it answers, and that it can be reached. */
#include "model/cause.h"

#include "record/syscalls.h"
#include "tests/unit/check.h"
#include "tests/unit/model/query.h"

#define NR(name) .mode = MODE_syscall, .nr = SYSCALL_NR_##name
#define STATE(name) .leave_state = LEAVE_##name
#define FD(name) .file = {.kind = FILE_KIND_##name}
#define WOKEN(name) .has_waker = true, .waker_context = WAKE_##name
#define SOFTIRQ(number) WOKEN(softirq), .waker_vector = (number)
#define DATA_OF(name) .waker_file = {.kind = FILE_KIND_##name}
#define IN_REQUEST(name) .file = {.kind = FILE_KIND_##name, .flags = FILE_IN_REQUEST}
#define ENDLESS .file = {.flags = FILE_NONE_ENDLESS}
#define FUTEX(operation, value)                                                                    \
	.file = {.key = FUTEX_KEY(operation, value), .flags = FILE_NONE_FUTEX}
#define JOIN 265 /* FUTEX_WAIT_BITSET by the wall clock, between processes */
#define ON_CPU_BY(name) .mode = MODE_##name

static const struct {
	struct cause_query query;
	enum split_part part;
	const char *reason; /* a word of it */
} cases[] = {
	{{NR(read), FD(pipe), STATE(preempted)}, SPLIT_runnable, "preempted"},
	{{NR(read), FD(pipe), STATE(throttled)}, SPLIT_throttled, "quota"},
	{{NR(nanosleep), STATE(stopped)}, SPLIT_other, "stopped"},
	{{ON_CPU_BY(user), STATE(stopped)}, SPLIT_other, "stopped"},
	{{NR(futex), STATE(traced)}, SPLIT_other, "tracer"},
	{{NR(futex), STATE(frozen)}, SPLIT_other, "frozen"},
	{{NR(exit), STATE(dead)}, SPLIT_other, "ended"},
	{{ON_CPU_BY(kernel_thread), STATE(parked)}, SPLIT_other, "parked"},
	{{ON_CPU_BY(kernel_thread), STATE(sleep), WOKEN(timer)}, SPLIT_timer, "kernel thread"},
	{{ON_CPU_BY(kernel_thread), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "storage"},
	{{ON_CPU_BY(kernel_thread), STATE(idle), WOKEN(task)}, SPLIT_other, "work"},
	{{ON_CPU_BY(kernel_thread), FD(tcp), STATE(sleep), WOKEN(softirq)},
	 SPLIT_network,
	 "request"},
	{{ON_CPU_BY(kernel_thread), FD(fifo), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "pipe"},
	{{ON_CPU_BY(kernel_thread), FD(regular), STATE(disk_sleep)}, SPLIT_disk, "file on storage"},
	{{ON_CPU_BY(kernel_thread), .file = {.flags = FILE_NONE_REQUEST}, STATE(sleep),
	  WOKEN(task)},
	 SPLIT_ipc,
	 "another thread"},
	{{ON_CPU_BY(kernel_thread), .file = {.flags = FILE_NONE_REQUEST}, STATE(sleep)},
	 SPLIT_other,
	 "within a request"},
	{{ON_CPU_BY(user), STATE(disk_sleep)}, SPLIT_other, "return to user"},
	{{ON_CPU_BY(user), STATE(sleep)}, SPLIT_other, "return to user"},
	{{ON_CPU_BY(exit), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "writes a core"},
	{{ON_CPU_BY(exit), STATE(disk_sleep), WOKEN(task)}, SPLIT_other, "ends by a signal: gives"},
	{{ON_CPU_BY(exit), STATE(sleep)}, SPLIT_other, "ends by a signal: gives"},
	{{ON_CPU_BY(exit), STATE(traced)}, SPLIT_other, "tracer"},
	{{ON_CPU_BY(fault), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_fault, "page fault"},
	{{ON_CPU_BY(fault), STATE(sleep), .nr = SYSCALL_NR_nanosleep}, SPLIT_fault, "page fault"},

	{{NR(nanosleep), STATE(sleep), WOKEN(timer)}, SPLIT_timer, "sleeps"},
	{{NR(clock_nanosleep), STATE(sleep)}, SPLIT_timer, "sleeps"},
	{{NR(poll), STATE(sleep), .arg0 = 0}, SPLIT_timer, "no file: sleeps"},
	{{NR(select), STATE(sleep), .arg0 = 0, WOKEN(timer)}, SPLIT_timer, "no file: sleeps"},
	{{NR(select), STATE(sleep), .arg0 = 0, SOFTIRQ(8)}, SPLIT_timer, "no file: sleeps"},
	{{NR(select), STATE(sleep), .arg0 = 0, WOKEN(unknown)}, SPLIT_timer, "no file: sleeps"},
	{{NR(poll), STATE(sleep), .arg0 = 0, WOKEN(task)}, SPLIT_ipc, "no file: a signal"},
	{{NR(select), STATE(sleep), WOKEN(task), DATA_OF(pipe)}, SPLIT_ipc, "no file: a signal"},
	{{NR(pselect6), STATE(sleep), SOFTIRQ(3)}, SPLIT_ipc, "no file: a signal"},
	{{NR(poll), STATE(sleep), ENDLESS}, SPLIT_ipc, "no time"},
	{{NR(ppoll), STATE(sleep), ENDLESS, WOKEN(task)}, SPLIT_ipc, "no time"},
	{{NR(select), STATE(sleep), ENDLESS, WOKEN(unknown)}, SPLIT_ipc, "no time"},
	{{NR(pselect6), STATE(sleep), ENDLESS, WOKEN(timer)}, SPLIT_timer, "no file: sleeps"},
	{{NR(poll), STATE(sleep), .arg0 = 1, ENDLESS}, SPLIT_other, "waits for events"},
	{{NR(futex), STATE(sleep), WOKEN(timer)}, SPLIT_timer, "timed out"},
	{{NR(futex), STATE(sleep), WOKEN(task)}, SPLIT_lock, "futex"},
	{{NR(futex_waitv), STATE(sleep)}, SPLIT_lock, "futex"},
	{{NR(futex), STATE(sleep), FUTEX(JOIN, 4711)}, SPLIT_child, "end of a thread"},
	{{NR(futex), STATE(sleep), FUTEX(JOIN, 2)}, SPLIT_lock, "futex"},
	{{NR(futex), STATE(sleep), FUTEX(JOIN | 128, 4711)}, SPLIT_lock, "futex"},
	{{NR(futex), STATE(sleep), .file = {.flags = FILE_NONE_FUTEX | FILE_IN_REQUEST}},
	 SPLIT_lock,
	 "middle of a request"},
	{{NR(futex), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_fault, "page"},
	{{NR(futex), STATE(disk_sleep), WOKEN(task)}, SPLIT_lock, "futex"},
	{{NR(fork), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "copy"},
	{{NR(fcntl), FD(regular), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "metadata"},
	{{NR(fcntl), FD(regular), STATE(sleep), WOKEN(task)}, SPLIT_lock, "file lock"},
	{{NR(flock), FD(regular), STATE(sleep), WOKEN(task)}, SPLIT_lock, "file lock"},
	{{NR(wait4), STATE(sleep), WOKEN(task)}, SPLIT_child, "child"},
	{{NR(waitid), STATE(sleep)}, SPLIT_child, "child"},
	{{NR(vfork), STATE(disk_sleep), WOKEN(task)}, SPLIT_child, "vfork"},
	{{NR(clone3), STATE(disk_sleep), WOKEN(task)}, SPLIT_child, "vfork"},
	{{NR(clone), STATE(disk_sleep), .arg0 = 0x4111}, SPLIT_child, "vfork"},
	{{NR(clone), STATE(disk_sleep), .arg0 = 0x11}, SPLIT_lock, "copied"},
	{{NR(fork), STATE(disk_sleep), .arg0 = 0x4000}, SPLIT_lock, "copied"},
	{{NR(pause), STATE(sleep), WOKEN(timer)}, SPLIT_timer, "signal of a timer"},
	{{NR(rt_sigtimedwait), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "signal"},
	{{NR(semtimedop), STATE(sleep), WOKEN(timer)}, SPLIT_timer, "timed out"},
	{{NR(msgrcv), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "message queue"},
	{{NR(exit_group), STATE(disk_sleep)}, SPLIT_other, "gives back files and memory"},
	{{NR(exit_group), STATE(disk_sleep), WOKEN(task)}, SPLIT_other, "files and memory"},
	{{NR(exit_group), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "gives back files"},
	{{NR(exit), STATE(disk_sleep), WOKEN(hardirq), .waker_block = true}, SPLIT_disk, "files"},

	{{NR(epoll_wait), FD(epoll), SOFTIRQ(3), DATA_OF(tcp), STATE(sleep)},
	 SPLIT_network,
	 "socket"},
	{{NR(epoll_wait), FD(epoll), WOKEN(kernel_thread), DATA_OF(udp), STATE(sleep)},
	 SPLIT_network,
	 "socket"},
	{{NR(epoll_wait), FD(epoll), WOKEN(task), DATA_OF(unix), STATE(sleep)},
	 SPLIT_ipc,
	 "local peer"},
	{{NR(poll), .arg0 = 1, WOKEN(task), DATA_OF(netlink), STATE(sleep)}, SPLIT_other, "kernel"},
	{{NR(epoll_wait), FD(epoll), WOKEN(timer), STATE(sleep)}, SPLIT_timer, "timed out"},
	{{NR(epoll_wait), IN_REQUEST(epoll), WOKEN(timer), STATE(sleep)}, SPLIT_timer, "timed out"},
	{{NR(epoll_wait), IN_REQUEST(epoll), WOKEN(task), STATE(sleep)},
	 SPLIT_ipc,
	 "request: woken by another thread"},
	{{NR(epoll_wait), IN_REQUEST(epoll), STATE(sleep)}, SPLIT_other, "middle of a request"},
	{{NR(poll), .arg0 = 1, SOFTIRQ(1), STATE(sleep)}, SPLIT_timer, "timed out"},
	{{NR(epoll_pwait2), SOFTIRQ(3), STATE(sleep)}, SPLIT_network, "traffic"},
	{{NR(epoll_wait), SOFTIRQ(4), STATE(sleep)}, SPLIT_disk, "block device"},
	{{NR(io_uring_enter), FD(io_uring), WOKEN(hardirq), STATE(sleep)}, SPLIT_disk, "ring"},
	{{NR(io_uring_enter), FD(io_uring), WOKEN(kernel_thread), STATE(sleep)},
	 SPLIT_disk,
	 "ring"},
	{{NR(io_uring_enter), FD(io_uring), SOFTIRQ(3), DATA_OF(tcp), STATE(sleep)},
	 SPLIT_network,
	 "socket"},
	{{NR(io_uring_enter), FD(io_uring), WOKEN(timer), STATE(sleep)}, SPLIT_timer, "timed out"},
	{{NR(pselect6), .arg0 = 4, WOKEN(task), STATE(sleep)}, SPLIT_ipc, "another thread"},
	{{NR(poll), .arg0 = 1, WOKEN(hardirq), STATE(sleep)}, SPLIT_other, "device"},
	{{NR(poll), .arg0 = 1, STATE(sleep)}, SPLIT_other, "waits for events"},
	{{NR(poll), .arg0 = 1, WOKEN(unknown), STATE(sleep)}, SPLIT_unknown, "could not be told"},
	{{NR(io_getevents), .arg0 = 1, WOKEN(timer), STATE(sleep)}, SPLIT_timer, "timed out"},
	{{NR(io_getevents), .arg0 = 1, WOKEN(task), STATE(sleep)}, SPLIT_ipc, "another thread"},
	{{NR(io_getevents), .arg0 = 1, WOKEN(hardirq), STATE(sleep)}, SPLIT_disk, "completed"},
	{{NR(io_getevents), .arg0 = 1, STATE(sleep)}, SPLIT_disk, "asynchronous"},
	{{NR(io_pgetevents), SOFTIRQ(3), DATA_OF(tcp), STATE(sleep)}, SPLIT_network, "socket"},
	{{NR(io_submit), .arg0 = 1, WOKEN(task), STATE(disk_sleep)}, SPLIT_disk, "asynchronous"},
	{{NR(read), FD(fanotify), STATE(sleep)}, SPLIT_ipc, "changes files"},

	{{NR(read), FD(network_fs), STATE(disk_sleep)}, SPLIT_network, "another machine"},
	{{NR(fsync), FD(network_fs), STATE(disk_sleep)}, SPLIT_network, "another machine"},
	{{NR(write), FD(pseudo), STATE(disk_sleep)}, SPLIT_other, "procfs"},
	{{NR(sendfile), FD(tcp), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "moves"},
	{{NR(sendfile), FD(tcp), STATE(disk_sleep), WOKEN(task)}, SPLIT_disk, "sends"},
	{{NR(sendfile), FD(tcp), STATE(sleep), SOFTIRQ(3)}, SPLIT_network, "socket"},
	{{NR(sendfile), FD(tcp), STATE(sleep)}, SPLIT_network, "socket"},
	/* two files, of which the first is known */
	{{NR(splice), FD(regular), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "storage"},
	{{NR(splice), FD(pipe), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "storage"},
	{{NR(splice), FD(pipe), STATE(disk_sleep), WOKEN(task)}, SPLIT_disk, "sends"},
	{{NR(splice), FD(regular), STATE(sleep), WOKEN(task), DATA_OF(pipe)}, SPLIT_ipc, "room"},
	{{NR(splice), FD(network_fs), STATE(sleep), WOKEN(task), DATA_OF(pipe)}, SPLIT_ipc, "room"},
	{{NR(splice), FD(network_fs), STATE(disk_sleep), SOFTIRQ(3)}, SPLIT_network, "room"},
	{{NR(splice), FD(regular), STATE(sleep)}, SPLIT_ipc, "no room"},
	{{NR(splice), FD(memory_fs), STATE(sleep)}, SPLIT_ipc, "no room"},
	{{NR(splice), FD(regular), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "another thread"},
	{{NR(splice), FD(tcp), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "another thread"},
	{{NR(splice), FD(tcp), STATE(sleep), WOKEN(task), DATA_OF(pipe)}, SPLIT_ipc, "room"},
	{{NR(splice), FD(tcp), STATE(sleep), SOFTIRQ(1)}, SPLIT_network, "socket"},
	{{NR(splice), FD(tcp), STATE(sleep), SOFTIRQ(3), DATA_OF(tcp)}, SPLIT_network, "room"},
	{{NR(splice), FD(pipe), STATE(sleep), SOFTIRQ(3), DATA_OF(tcp)}, SPLIT_network, "room"},
	{{NR(splice), FD(pipe), STATE(sleep), WOKEN(task), DATA_OF(tcp)}, SPLIT_network, "room"},
	{{NR(splice), FD(pipe), STATE(sleep)}, SPLIT_ipc, "pipe"},
	{{NR(sendfile), FD(pipe), STATE(sleep), WOKEN(task), DATA_OF(pipe)}, SPLIT_ipc, "room"},
	{{NR(sendfile), FD(pipe), STATE(sleep), SOFTIRQ(3), DATA_OF(tcp)}, SPLIT_network, "room"},
	{{NR(copy_file_range), FD(regular), STATE(disk_sleep)}, SPLIT_disk, "sends"},
	{{NR(tee), FD(pipe), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "pipe"},
	{{NR(vmsplice), FD(pipe), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "pipe"},
	{{NR(vmsplice), FD(pipe), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "reads"},
	{{NR(vmsplice), FD(pipe), STATE(disk_sleep), WOKEN(task)}, SPLIT_ipc, "pipe"},
	{{NR(vmsplice), FD(pipe), STATE(disk_sleep), WOKEN(kernel_thread)}, SPLIT_disk, "reads"},
	{{NR(vmsplice), FD(pipe), STATE(sleep), WOKEN(kernel_thread)}, SPLIT_ipc, "pipe"},
	{{NR(read), FD(tcp), STATE(sleep), WOKEN(task)}, SPLIT_network, "socket"},
	{{NR(recvfrom), FD(tcp), STATE(sleep), SOFTIRQ(1)}, SPLIT_network, "socket"},
	{{NR(accept4), FD(tcp), STATE(sleep)}, SPLIT_network, "socket"},
	{{NR(connect), FD(tcp), STATE(sleep), SOFTIRQ(3)}, SPLIT_network, "socket"},
	/* what an interrupt or a kernel thread served counts, not who it was */
	{{NR(epoll_wait), STATE(sleep), WOKEN(kernel_thread), DATA_OF(tcp)},
	 SPLIT_network,
	 "data of a socket"},
	{{NR(epoll_wait), STATE(sleep), WOKEN(hardirq), .waker_block = true},
	 SPLIT_disk,
	 "block device"},
	{{NR(io_uring_enter), STATE(sleep), WOKEN(kernel_thread), DATA_OF(unix)},
	 SPLIT_ipc,
	 "local peer"},
	{{NR(io_uring_enter), STATE(sleep), WOKEN(kernel_thread), DATA_OF(regular)},
	 SPLIT_disk,
	 "I/O of the ring"},
	{{NR(io_uring_enter), STATE(sleep), WOKEN(kernel_thread), DATA_OF(network_fs)},
	 SPLIT_network,
	 "network"},
	{{NR(io_uring_enter), STATE(sleep), WOKEN(kernel_thread), DATA_OF(memory_fs)},
	 SPLIT_other,
	 "kernel"},
	{{NR(munmap), STATE(disk_sleep), WOKEN(kernel_thread), .waker_block = true},
	 SPLIT_disk,
	 "its storage"},
	{{NR(read), FD(pipe), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "pipe"},
	{{NR(write), FD(fifo), STATE(sleep)}, SPLIT_ipc, "pipe"},
	{{NR(recvmsg), FD(unix), STATE(sleep)}, SPLIT_ipc, "Unix"},
	{{NR(read), FD(eventfd), STATE(sleep)}, SPLIT_ipc, "eventfd"},
	{{NR(read), FD(signalfd), STATE(sleep)}, SPLIT_ipc, "signal"},
	{{NR(read), FD(inotify), STATE(sleep)}, SPLIT_ipc, "another program"},
	{{NR(read), FD(timerfd), STATE(sleep), WOKEN(timer)}, SPLIT_timer, "timerfd"},
	{{NR(recvmsg), FD(netlink), STATE(sleep)}, SPLIT_other, "kernel"},
	{{NR(write), FD(memory_fs), STATE(disk_sleep)}, SPLIT_other, "memory"},
	{{NR(read), FD(tty), STATE(sleep), WOKEN(kernel_thread)}, SPLIT_other, "terminal"},
	{{NR(ioctl), FD(character), STATE(sleep)}, SPLIT_other, "character"},
	{{NR(open), STATE(sleep), WOKEN(task)}, SPLIT_ipc, "FIFO"},
	{{NR(read), FD(regular), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "storage"},
	{{NR(pwrite64), FD(block), STATE(disk_sleep)}, SPLIT_disk, "storage"},
	{{NR(getdents64), FD(directory), STATE(disk_sleep)}, SPLIT_disk, "storage"},
	{{NR(io_submit), .arg0 = 1, STATE(disk_sleep)}, SPLIT_disk, "asynchronous"},
	{{NR(fsync), FD(regular), STATE(disk_sleep)}, SPLIT_disk, "writes back"},
	{{NR(sync), STATE(disk_sleep)}, SPLIT_disk, "writes back"},
	{{NR(msync), STATE(disk_sleep)}, SPLIT_disk, "writes back"},
	{{NR(openat), FD(directory), STATE(disk_sleep)}, SPLIT_disk, "storage"},
	{{NR(openat), STATE(disk_sleep)}, SPLIT_disk, "path"},
	{{NR(execve), STATE(disk_sleep)}, SPLIT_disk, "path"},
	{{NR(execve), STATE(disk_sleep), WOKEN(task)}, SPLIT_other, "another thread"},
	{{NR(mmap), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "fills memory"},
	{{NR(munmap), STATE(disk_sleep), WOKEN(task)}, SPLIT_lock, "memory map"},
	{{NR(munmap), STATE(disk_sleep), WOKEN(kernel_thread)}, SPLIT_lock, "memory map"},
	{{NR(mmap), STATE(disk_sleep), WOKEN(timer)}, SPLIT_other, "memory limit"},
	{{NR(mmap), STATE(disk_sleep)}, SPLIT_unknown, "memory map"},
	/* a thread of the kernel: storage for what brings memory in, else it may be anything */
	{{NR(mlock), STATE(disk_sleep), WOKEN(kernel_thread)}, SPLIT_disk, "fills memory"},
	{{NR(mlock), STATE(disk_sleep), WOKEN(task)}, SPLIT_lock, "memory map"},
	{{NR(madvise), STATE(sleep), WOKEN(kernel_thread)}, SPLIT_lock, "memory map"},
	{{NR(process_vm_readv), STATE(disk_sleep), WOKEN(kernel_thread)}, SPLIT_disk, "reads"},
	{{NR(process_vm_readv), STATE(disk_sleep), WOKEN(task)}, SPLIT_other, "inside"},
	{{NR(ptrace), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "reads"},
	{{NR(membarrier), STATE(disk_sleep), WOKEN(kernel_thread)}, SPLIT_other, "inside"},
	{{NR(membarrier), STATE(disk_sleep), SOFTIRQ(9)}, SPLIT_other, "inside"},
	{{NR(exit_group), STATE(disk_sleep), SOFTIRQ(9)}, SPLIT_other, "ends"},
	{{NR(clone), STATE(disk_sleep), WOKEN(kernel_thread)}, SPLIT_lock, "copied"},
	{{NR(exit_group), STATE(disk_sleep), WOKEN(kernel_thread)}, SPLIT_other, "ends"},
	{{ON_CPU_BY(exit), STATE(disk_sleep), WOKEN(kernel_thread)}, SPLIT_other, "ends"},

	{{NR(getrandom), STATE(sleep), SOFTIRQ(3)}, SPLIT_network, "traffic"},
	{{NR(finit_module), STATE(disk_sleep), SOFTIRQ(4)}, SPLIT_disk, "device"},
	{{NR(bpf), STATE(sleep), WOKEN(timer)}, SPLIT_timer, "until a time"},
	{{NR(getrandom), STATE(sleep)}, SPLIT_other, "inside the kernel"},
	{{.mode = MODE_syscall, .nr = 60000, STATE(sleep)}, SPLIT_other, "inside the kernel"},
	{{.mode = 9, STATE(sleep)}, SPLIT_unknown, "not known"},

	/* 32-bit calls: 3 is read, 162 nanosleep, 422 futex_time64, 7 waitpid, 102 socketcall */
	{{.mode = MODE_syscall, .abi_flags = SYSCALL_COMPAT, .nr = 3, FD(pipe), STATE(sleep)},
	 SPLIT_ipc,
	 "pipe"},
	{{.mode = MODE_syscall, .abi_flags = SYSCALL_COMPAT, .nr = 162, STATE(sleep)},
	 SPLIT_timer,
	 "sleeps"},
	{{.mode = MODE_syscall, .abi_flags = SYSCALL_COMPAT, .nr = 422, STATE(sleep)},
	 SPLIT_lock,
	 "futex"},
	{{.mode = MODE_syscall, .abi_flags = SYSCALL_COMPAT, .nr = 7, STATE(sleep)},
	 SPLIT_child,
	 "child"},
	{{.mode = MODE_syscall,
	  .abi_flags = SYSCALL_COMPAT,
	  .nr = 102,
	  .arg0 = 3 /* connect */,
	  FD(tcp),
	  STATE(sleep)},
	 SPLIT_network,
	 ""},
	{{.mode = MODE_syscall, .abi_flags = SYSCALL_COMPAT, .nr = 102, .arg0 = 99, STATE(sleep)},
	 SPLIT_other,
	 "inside the kernel"},
	{{.mode = MODE_syscall, .abi_flags = SYSCALL_COMPAT, .nr = 600, STATE(sleep)},
	 SPLIT_other,
	 "inside the kernel"},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

TEST(each_case_has_its_cause)
{
	for (size_t i = 0; i < CASES; i++) {
		const char *reason = NULL;
		enum split_part part = cause_find(&cases[i].query, &reason);

		if (part != cases[i].part)
			CHECK_FAIL("case %zu is %s, should be %s (%s)", i, split_part_name(part),
				   split_part_name(cases[i].part), reason);
		if (!strstr(reason, cases[i].reason))
			CHECK_FAIL("case %zu: \"%s\" lacks \"%s\"", i, reason, cases[i].reason);
	}
}

TEST(each_rule_is_reached_by_a_case)
{
	bool reached[256] = {false};

	CHECK(cause_rules_count() <= sizeof(reached));
	for (size_t i = 0; i < CASES; i++)
		reached[cause_rule_index(&cases[i].query)] = true;
	for (size_t rule = 0; rule < cause_rules_count(); rule++) {
		if (!reached[rule])
			CHECK_FAIL("no case reaches rule %zu", rule);
	}
}

/* Rules that were found are noted, so the order of queries must make no difference. */
TEST(an_answer_does_not_depend_on_those_before)
{
	enum { QUERIES = 200000 };
	static struct cause_query queries[QUERIES];
	static u8 found[QUERIES];

	for (u32 i = 0; i < QUERIES; i++) {
		queries[i] = cases[i % CASES].query;
		query_vary(&queries[i], i);
		found[i] = (u8)cause_rule_index(&queries[i]);
	}
	for (u32 i = QUERIES; i-- > 0;)
		CHECK_EQ(cause_rule_index(&queries[i]), found[i]);
}

/* A wait of a thread that does not run is never time on a CPU, and always has a reason. */
TEST(any_query_is_answered)
{
	u64 seed = 1;

	for (int i = 0; i < 300000; i++) {
		struct cause_query q;
		u8 bytes[sizeof(q)];
		const char *reason = NULL;
		enum split_part part;

		for (size_t k = 0; k < sizeof(bytes); k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bytes[k] = (u8)(seed >> 40) & (i & 1 ? 0x0f : 0xff);
		}
		q = (struct cause_query){.mode = bytes[0],
					 .abi_flags = bytes[1] & 1,
					 .nr = (u16)(bytes[2] | (bytes[3] & 3) << 8),
					 .leave_state = bytes[4],
					 .has_waker = bytes[5] & 1,
					 .waker_context = bytes[6],
					 .waker_vector = bytes[7],
					 .arg0 = bytes[8],
					 .file = {.kind = bytes[9]},
					 .waker_file = {.kind = bytes[10]}};
		part = cause_find(&q, &reason);
		CHECK(part != SPLIT_user && part != SPLIT_kernel && part != SPLIT_off_thread);
		CHECK(split_part_name(part) && reason && reason[0]);
	}
	CHECK(cause_find(&(struct cause_query){0}, NULL) == SPLIT_runnable);
}

TEST(split_sums_and_names)
{
	struct split a = {{0}}, b = {{0}};

	a.ns[SPLIT_user] = 5;
	a.ns[SPLIT_unknown] = 7;
	b.ns[SPLIT_disk] = 11;
	split_add(&a, &b);
	CHECK_EQ(split_total(&a), 23);
	split_subtract(&a, &b);
	CHECK_EQ(a.ns[SPLIT_disk], 0);
	CHECK_STR(split_part_name(SPLIT_off_thread), "off_thread");
	CHECK_STR(split_part_name(SPLIT_PARTS_COUNT), NULL);
}

TEST_MAIN()
