/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/check.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define SECOND_NS 1000000000ll
#define OFFSETS "monotonic 500 7\nboottime 700 0\n"

/* The host's clock must lie between two readings of our own. */
static void check_ahead(clockid_t id, int64_t ahead_ns)
{
	uint64_t before = clock_read_ns(id), host = host_clock_read_ns(id),
		 after = clock_read_ns(id);

	CHECK(before <= host + (uint64_t)ahead_ns);
	CHECK(host + (uint64_t)ahead_ns <= after);
}

TEST(this_process)
{
	int64_t monotonic, boottime, real;

	CHECK_EQ(host_clock_offset("self", CLOCK_MONOTONIC, &monotonic), 0);
	CHECK_EQ(host_clock_offset("self", CLOCK_BOOTTIME, &boottime), 0);
	CHECK_EQ(host_clock_offset("self", CLOCK_REALTIME, &real), 0);
	CHECK_EQ(real, 0);
	CHECK_EQ(host_clock_check(), 0);
	check_ahead(CLOCK_MONOTONIC, monotonic);
	check_ahead(CLOCK_BOOTTIME, boottime);
	check_ahead(CLOCK_REALTIME, 0);
	CHECK_EQ(host_clock_own_ns(SECOND_NS), SECOND_NS + monotonic);
}

TEST(a_process_that_is_gone)
{
	int64_t ahead = 5;
	char name[16];
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	snprintf(name, sizeof(name), "%d", pid);
	if (access("/proc/self/ns/time", F_OK) == 0)
		CHECK_EQ(host_clock_offset(name, CLOCK_MONOTONIC, &ahead), -ESRCH);
	CHECK_EQ(ahead, access("/proc/self/ns/time", F_OK) == 0 ? 5 : 0);
}

/* Runs in the child: the offset, which is read once, must not have been read before. */
static void within(void)
{
	CHECK_EQ(host_clock_check(), 0);
	check_ahead(CLOCK_MONOTONIC, 500 * SECOND_NS + 7);
	check_ahead(CLOCK_BOOTTIME, 700 * SECOND_NS);
	CHECK_EQ(host_clock_own_ns(1), 500 * SECOND_NS + 8);
}

/* In a process whose children are in a namespace, but not the process itself. */
static void outside(void)
{
	int64_t mine, ahead = 5;
	pid_t pid;
	int status;

	mine = (int64_t)host_clock_own_ns(0);
	pid = fork();
	if (pid == 0) {
		char *args[] = {"test-base-host_clock", "within", NULL};

		execv("/proc/self/exe", args);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	if (mine == 0) {
		CHECK_EQ(host_clock_offset("self", CLOCK_MONOTONIC, &ahead), 0);
		CHECK_EQ(ahead, 0);
	} else {
		CHECK_EQ(host_clock_offset("self", CLOCK_MONOTONIC, &ahead), -ENOTSUP);
	}
}

static bool offsets_write(void)
{
	int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, OFFSETS, sizeof(OFFSETS) - 1) == sizeof(OFFSETS) - 1;

	if (fd >= 0)
		close(fd);
	return done;
}

TEST(in_a_time_namespace)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		host_clock_check();
		if (unshare(CLONE_NEWTIME) || !offsets_write())
			_exit(77); /* not root, or an older kernel */
		outside();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no time namespaces here");
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	struct check_test test = {.run = within};

	if (argc == 2 && strcmp(argv[1], "within") == 0)
		return check_run(&test) == CHECK_PASSED ? 0 : 1;
	return check_main(argc, argv);
}
