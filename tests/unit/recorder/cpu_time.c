/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of a process whatever its name is, and of its children that it waited for. */
#include "recorder/cpu_time.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/check.h"

#define SPENT_NS 200000000ull

static void spend(void)
{
	u64 begin = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < begin + SPENT_NS)
		;
}

/* A child that spends time itself, or has a child of its own do it, and then waits. */
static pid_t spender(bool by_child, int told)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_NAME, ") R 1 (");
	if (by_child && fork() == 0) {
		spend();
		_exit(0);
	}
	if (by_child)
		wait(NULL);
	else
		spend();
	if (write(told, "x", 1) == 1)
		pause();
	_exit(1);
}

static void check_spender(bool by_child)
{
	int told[2];
	pid_t pid;
	char byte;

	CHECK_EQ(pipe(told), 0);
	pid = spender(by_child, told[1]);
	CHECK(pid > 0);
	CHECK_EQ(read(told[0], &byte, 1), 1);
	CHECK(process_cpu_ns(pid) >= SPENT_NS - 20000000);
	CHECK(process_cpu_ns(pid) < 20 * SPENT_NS);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(process_cpu_ns(pid), 0);
	close(told[0]);
	close(told[1]);
}

TEST(its_own_time_counts)
{
	check_spender(false);
}

TEST(time_of_its_children_counts)
{
	check_spender(true);
}

TEST_MAIN()
