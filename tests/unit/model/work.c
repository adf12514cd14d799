/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of the table of waits for work: what it answers, and that it can be reached. */
#include "model/work.h"

#include "record/syscalls.h"
#include "tests/unit/check.h"
#include "tests/unit/model/query.h"

#define SLEEPS(name) .mode = MODE_syscall, .nr = SYSCALL_NR_##name, .leave_state = LEAVE_sleep
#define ON(name) .file = {.kind = FILE_KIND_##name}
#define SOCKET(name, side) .file = {.kind = FILE_KIND_##name, .flags = FILE_##side}
#define NONE(flag) .file = {.flags = FILE_NONE_##flag}
#define WOKEN(name) .has_waker = true, .waker_context = WAKE_##name
#define BY(name) WOKEN(task), .waker_file = {.kind = FILE_KIND_##name}
#define BY_SOCKET(name, side)                                                                      \
	WOKEN(softirq), .waker_vector = 3,                                                         \
			.waker_file = {.kind = FILE_KIND_##name, .flags = FILE_##side}
#define FUTEX(operation, value)                                                                    \
	SLEEPS(futex), .file = {.key = FUTEX_KEY(operation, value), .flags = FILE_NONE_FUTEX}
#define WAIT 128
#define WAIT_BITSET 137
#define LOCK_PI 134
#define KERNEL_THREAD(state) .mode = MODE_kernel_thread, .leave_state = LEAVE_##state

static const struct {
	struct cause_query query;
	enum work work;
	const char *reason; /* a word of it */
} cases[] = {
	{{KERNEL_THREAD(idle)}, WORK_WAITS, "kernel thread"},
	{{KERNEL_THREAD(sleep), WOKEN(timer)}, WORK_WAITS, "kernel thread"},
	{{KERNEL_THREAD(disk_sleep)}, WORK_NOT, ""},
	{{KERNEL_THREAD(sleep), SOCKET(tcp, LISTENS)}, WORK_WAITS, "client"},
	{{KERNEL_THREAD(sleep), SOCKET(tcp, MADE)}, WORK_NOT, ""},
	{{KERNEL_THREAD(sleep), ON(fifo)}, WORK_NOT, ""},
	{{KERNEL_THREAD(sleep), NONE(REQUEST)}, WORK_NOT, ""},
	{{SLEEPS(accept4), SOCKET(tcp, LISTENS)}, WORK_WAITS, "connection"},
	{{SLEEPS(accept), SOCKET(unix, LISTENS), WOKEN(task)}, WORK_WAITS, "connection"},
	{{SLEEPS(read), SOCKET(tcp, ACCEPTED)}, WORK_WAITS, "client"},
	{{SLEEPS(recvfrom), SOCKET(udp, LISTENS), WOKEN(softirq)}, WORK_WAITS, "client"},
	{{SLEEPS(recvmsg), SOCKET(unix, ACCEPTED), WOKEN(timer)}, WORK_WAITS, "client"},
	{{SLEEPS(recvfrom), SOCKET(tcp, MADE)}, WORK_NOT, ""},
	{{SLEEPS(recvfrom), ON(tcp)}, WORK_NOT, ""},
	{{SLEEPS(write), SOCKET(tcp, ACCEPTED)}, WORK_NOT, ""},
	{{.mode = MODE_syscall,
	  .nr = SYSCALL_NR_read,
	  .leave_state = LEAVE_stopped,
	  SOCKET(tcp, ACCEPTED)},
	 WORK_NOT,
	 ""},
	{{SLEEPS(read), ON(eventfd)}, WORK_WAITS, "event"},
	{{SLEEPS(read), ON(timerfd), WOKEN(timer)}, WORK_WAITS, "event"},
	{{SLEEPS(read), ON(signalfd)}, WORK_WAITS, "event"},
	{{SLEEPS(read), ON(tty)}, WORK_WAITS, "news"},
	{{SLEEPS(recvmsg), ON(netlink)}, WORK_WAITS, "news"},
	{{SLEEPS(read), ON(pipe), BY(pipe), .waker_own = true}, WORK_WAITS, "own process"},
	{{SLEEPS(read), ON(pipe), BY(pipe)}, WORK_NOT, ""},
	{{SLEEPS(read), ON(pipe)}, WORK_NOT, ""},
	{{SLEEPS(read), ON(regular)}, WORK_NOT, ""},

	{{SLEEPS(epoll_wait), ON(epoll)}, WORK_WAITS, "yet"},
	{{SLEEPS(epoll_pwait), ON(epoll), WOKEN(timer)}, WORK_WAITS, "in time"},
	{{SLEEPS(poll), .arg0 = 1, WOKEN(softirq), .waker_vector = 1}, WORK_WAITS, "in time"},
	{{SLEEPS(epoll_wait), ON(epoll), BY_SOCKET(tcp, ACCEPTED)}, WORK_WAITS, "client"},
	{{SLEEPS(epoll_wait), ON(epoll), BY_SOCKET(tcp, LISTENS)}, WORK_WAITS, "client"},
	{{SLEEPS(io_uring_enter), BY_SOCKET(tcp, ACCEPTED)}, WORK_WAITS, "client"},
	{{SLEEPS(epoll_wait), ON(epoll), BY_SOCKET(tcp, MADE)}, WORK_NOT, ""},
	{{SLEEPS(pselect6), .arg0 = 4, BY_SOCKET(unix, MADE)}, WORK_NOT, ""},
	{{SLEEPS(epoll_wait), ON(epoll), BY(tcp)}, WORK_NOT, ""},
	{{SLEEPS(epoll_wait), ON(epoll), BY(eventfd)}, WORK_WAITS, "event"},
	{{SLEEPS(epoll_wait), ON(epoll), BY(tty)}, WORK_WAITS, "news"},
	{{SLEEPS(epoll_wait), SOCKET(epoll, IN_REQUEST), BY(signalfd)}, WORK_NOT, ""},
	{{SLEEPS(epoll_wait), SOCKET(epoll, IN_REQUEST)}, WORK_NOT, ""},
	{{SLEEPS(poll), .arg0 = 1, BY(pipe), .waker_own = true}, WORK_WAITS, "own process"},
	{{SLEEPS(poll), .arg0 = 1, BY(pipe)}, WORK_NOT, ""},
	{{SLEEPS(poll), .arg0 = 1, WOKEN(task)}, WORK_NOT, ""},
	{{SLEEPS(io_uring_enter), WOKEN(hardirq), .waker_block = true}, WORK_NOT, ""},
	{{SLEEPS(poll), .arg0 = 1, SOCKET(tcp, MADE), WOKEN(timer)}, WORK_NOT, ""},
	{{SLEEPS(poll), .arg0 = 1, SOCKET(tcp, ACCEPTED), WOKEN(timer)}, WORK_WAITS, "in time"},
	{{SLEEPS(poll), WOKEN(timer)}, WORK_NOT, ""},
	{{SLEEPS(ppoll), NONE(ENDLESS)}, WORK_WAITS, "signal"},

	{{SLEEPS(rt_sigsuspend), WOKEN(task)}, WORK_WAITS, "signal"},
	{{SLEEPS(rt_sigtimedwait), WOKEN(timer)}, WORK_WAITS, "signal"},
	{{SLEEPS(wait4), NONE(LEADER)}, WORK_WAITS, "first process"},
	{{SLEEPS(wait4)}, WORK_NOT, ""},
	{{SLEEPS(nanosleep), WOKEN(timer)}, WORK_NOT, ""},

	{{FUTEX(WAIT, 2)}, WORK_NOT, ""},	 /* a mutex */
	{{FUTEX(WAIT_BITSET, 2)}, WORK_NOT, ""}, /* a mutex of Rust */
	{{FUTEX(WAIT_BITSET, 3)}, WORK_NOT, ""}, /* a lock of readers and writers */
	{{FUTEX(LOCK_PI, 0)}, WORK_NOT, ""},
	{{SLEEPS(futex)}, WORK_NOT, ""}, /* of an older recording */
	{{FUTEX(WAIT_BITSET, 0)}, WORK_FUTEX, "condition"},
	{{FUTEX(WAIT, 0), WOKEN(timer)}, WORK_FUTEX, "condition"},
	{{FUTEX(WAIT_BITSET, 0xffffffff)}, WORK_FUTEX, "parked"},
	{{FUTEX(WAIT_BITSET, 17)}, WORK_BY_WORD, "others"},
	{{SLEEPS(futex),
	  .file = {.key = FUTEX_KEY(WAIT_BITSET, 0), .flags = FILE_NONE_FUTEX | FILE_IN_REQUEST}},
	 WORK_IN_REQUEST,
	 "request"},
	{{SLEEPS(futex),
	  .file = {.key = FUTEX_KEY(WAIT_BITSET, 2), .flags = FILE_NONE_FUTEX | FILE_IN_REQUEST}},
	 WORK_NOT,
	 ""},
	{{.mode = MODE_syscall,
	  .nr = SYSCALL_NR_futex,
	  .leave_state = LEAVE_disk_sleep,
	  .file = {.flags = FILE_NONE_FUTEX}},
	 WORK_NOT,
	 ""},
	{{.mode = MODE_syscall,
	  .abi_flags = SYSCALL_COMPAT,
	  .nr = 240,
	  .leave_state = LEAVE_sleep,
	  .file = {.key = FUTEX_KEY(WAIT_BITSET, 0), .flags = FILE_NONE_FUTEX}},
	 WORK_FUTEX,
	 "condition"},
	{{.mode = MODE_user, .leave_state = LEAVE_sleep}, WORK_NOT, ""},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

TEST(each_case_has_its_answer)
{
	for (size_t i = 0; i < CASES; i++) {
		const char *reason = NULL;
		enum work work = work_find(&cases[i].query, &reason);

		if (work != cases[i].work)
			CHECK_FAIL("case %zu is %d, should be %d (%s)", i, work, cases[i].work,
				   reason);
		if (!strstr(reason, cases[i].reason))
			CHECK_FAIL("case %zu: \"%s\" lacks \"%s\"", i, reason, cases[i].reason);
	}
}

TEST(each_rule_is_reached_by_a_case)
{
	bool reached[64] = {false};

	CHECK(work_rules_count() <= sizeof(reached));
	for (size_t i = 0; i < CASES; i++)
		reached[work_rule_index(&cases[i].query)] = true;
	for (size_t rule = 0; rule < work_rules_count(); rule++) {
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
		found[i] = (u8)work_rule_index(&queries[i]);
	}
	for (u32 i = QUERIES; i-- > 0;)
		CHECK_EQ(work_rule_index(&queries[i]), found[i]);
}

/* A wait whose part is none of work_is_part() never counts as one for work. */
TEST(the_cause_of_a_wait_for_work_is_one_that_is_kept)
{
	for (size_t i = 0; i < CASES; i++)
		if (cases[i].work && !work_is_part(cause_find(&cases[i].query, NULL)))
			CHECK_FAIL("case %zu", i);
}

TEST(no_more_becomes_idle_than_there_is)
{
	struct split split = {.ns = {[SPLIT_network] = 10, [SPLIT_lock] = 5}};
	const struct work_split work = {
		.ns = {[SPLIT_network - WORK_FIRST_PART] = 4, [SPLIT_lock - WORK_FIRST_PART] = 9}};

	work_to_idle(&split, &work);
	CHECK_EQ(split.ns[SPLIT_network], 6);
	CHECK_EQ(split.ns[SPLIT_lock], 0);
	CHECK_EQ(split.ns[SPLIT_idle], 9);
	CHECK_EQ(split_total(&split), 15);
}

TEST_MAIN()
