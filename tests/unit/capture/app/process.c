/* SPDX-License-Identifier: Apache-2.0 */
/* Thread ids that a process writes are looked up, and not more often than needed. */
#include "capture/app/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define THREADS 300
#define NOBODY 0x7ffffff0

static struct thread_owners owners;

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static u32 thread_of(struct app_process *process, u32 inner)
{
	return app_process_thread(process, &owners, inner, now_ns());
}

static u64 used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static void *thread_wait(void *arg)
{
	pause();
	return arg;
}

/* The first process of a pid namespace, with threads; it makes one more when it is told to. */
static void nested_run(int ready, int go)
{
	pthread_attr_t small;
	pthread_t thread;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, &small, thread_wait, NULL))
			_exit(1);
	}
	if (write(ready, "x", 1) != 1 || read(go, &byte, 1) != 1 ||
	    pthread_create(&thread, &small, thread_wait, NULL) || write(ready, "x", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static pid_t nested_start(int *ready, int *go)
{
	int from[2], to[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe2(from, O_CLOEXEC) | pipe2(to, O_CLOEXEC), 0);
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, 0);
	CHECK(pid >= 0);
	if (pid == 0)
		nested_run(from[1], to[0]);
	close(from[1]);
	close(to[0]);
	CHECK_EQ(read(from[0], &byte, 1), 1);
	*ready = from[0];
	*go = to[1];
	return pid;
}

/* A process may name threads that it does not have, each time another one. */
TEST(threads_of_a_namespace_are_not_walked_for_each_record)
{
	struct app_process process;
	int ready, go, drains = 0;
	u64 begin, walk, asked;
	pid_t pid;
	char byte;

	if (geteuid() != 0)
		SKIP("a pid namespace needs root");
	pid = nested_start(&ready, &go);
	begin = used_ns();
	CHECK_EQ(app_process_open(pid, &process, NULL), 0);
	walk = used_ns() - begin;
	CHECK(process.nested);
	CHECK_EQ(process.inner_pid, 1);
	CHECK_EQ(thread_of(&process, 1), pid);
	CHECK(thread_of(&process, THREADS) != 0);
	begin = used_ns();
	for (u32 i = 0; i < 200; i++) {
		app_process_refill(&process);
		for (u32 k = 0; k < 10; k++)
			CHECK_EQ(thread_of(&process, NOBODY - i * 10 - k), 0);
	}
	asked = used_ns() - begin;
	printf("# a walk takes %llu us, 200 drains %llu us\n", (unsigned long long)walk / 1000,
	       (unsigned long long)asked / 1000);
	CHECK(asked < 50 * walk);

	/* One that nobody told of is found, if not at once. */
	CHECK_EQ(thread_of(&process, THREADS + 2), 0);
	CHECK(write(go, "x", 1) == 1 && read(ready, &byte, 1) == 1);
	while (!thread_of(&process, THREADS + 2) && drains++ < 10000) {
		usleep(1000);
		app_process_refill(&process);
	}
	CHECK(thread_of(&process, THREADS + 2) != 0);
	app_process_close(&process);
	close(ready);
	close(go);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* They stand in its status before its ids, and are as many as somebody likes. */
TEST(a_process_of_many_groups_is_looked_up)
{
	static gid_t groups[NGROUPS_MAX];
	struct app_process process;
	int ready[2];
	char byte;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("groups need root");
	for (u32 i = 0; i < NGROUPS_MAX; i++)
		groups[i] = 1000000000 + i;
	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgroups(NGROUPS_MAX, groups) || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_EQ(app_process_open(pid, &process, NULL), 0);
	CHECK_EQ(process.inner_pid, pid);
	CHECK(!process.nested);
	CHECK_EQ(thread_of(&process, (u32)pid), pid);
	app_process_close(&process);
	close(ready[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- numbers that are given again ---- */

/* A process that waits, with a number of our choice; -1 if somebody has that, 0: not to be had. */
static pid_t stranger_start(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		return errno == EEXIST ? -1 : 0;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

static void stranger_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static pid_t sleeper_start(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

/* It names a number that nobody has, for the day on which somebody gets it. */
TEST(a_number_that_nobody_had_is_not_ours_for_ever)
{
	struct app_process process;
	pid_t pid = sleeper_start(), number = 0, stranger = -1;

	CHECK_EQ(app_process_open(pid, &process, NULL), 0);
	for (number = 32000; number > 30000 && stranger < 0; number--) {
		app_process_refill(&process);
		if (thread_of(&process, (u32)number) == (u32)number)
			stranger = stranger_start(number);
	}
	number++;
	if (stranger <= 0) {
		app_process_close(&process);
		stranger_end(pid);
		SKIP("numbers of processes cannot be chosen here");
	}
	CHECK_EQ(thread_of(&process, (u32)number), 0);
	CHECK_EQ(thread_of(&process, (u32)number), 0);
	stranger_end(stranger);
	CHECK_EQ(thread_of(&process, (u32)number), number); /* one that ended unseen, say */
	app_process_close(&process);
	stranger_end(pid);
}

static void *thread_ends(void *arg)
{
	const int *ends = arg;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	if (write(ends[1], &tid, sizeof(tid)) != sizeof(tid) || read(ends[0], &byte, 1) != 1)
		_exit(1);
	return NULL;
}

/* A process with a thread that ends when it is told to; says its number, then that it has ended. */
static pid_t thread_holder_start(int *ready, int *go)
{
	int from[2], to[2];
	pthread_t thread;
	pid_t pid;

	CHECK_EQ(pipe2(from, O_CLOEXEC) | pipe2(to, O_CLOEXEC), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int ends[2] = {to[0], from[1]};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, thread_ends, ends) ||
		    pthread_join(thread, NULL) || write(from[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(from[1]);
	close(to[0]);
	*ready = from[0];
	*go = to[1];
	return pid;
}

/* Its end is not yet told. Once it was waited for, its number can be a stranger's. */
TEST(a_process_that_has_ended_has_its_number_until_somebody_waits_for_it)
{
	struct app_process process;
	siginfo_t end;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	CHECK_EQ(app_process_open(pid, &process, NULL), 0);
	process.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(process.pidfd >= 0);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
	CHECK_EQ(thread_of(&process, (u32)pid), pid);
	CHECK_EQ(thread_of(&process, (u32)getpid()), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	process.pid = getpid(); /* as if it had the number now */
	CHECK_EQ(thread_of(&process, (u32)getpid()), 0);
	close(process.pidfd);
	app_process_close(&process);
}

TEST(the_number_of_a_thread_that_ended_is_asked_for_again)
{
	union {
		struct record_exit r;
		u8 slot[RECORD_SLOT_BYTES];
	} end = {.r.head.kind = RECORD_exit};
	struct app_process process;
	int ready, go;
	pid_t pid = thread_holder_start(&ready, &go), tid, stranger;
	char byte;
	u64 lived;

	CHECK_EQ(read(ready, &tid, sizeof(tid)), sizeof(tid));
	CHECK_EQ(app_process_open(pid, &process, NULL), 0);
	CHECK_EQ(thread_of(&process, (u32)tid), tid);
	usleep(10000); /* times of what was found are coarse */
	lived = now_ns();
	CHECK(write(go, "x", 1) == 1 && read(ready, &byte, 1) == 1);
	end.r.head.tid = (u32)tid;
	end.r.head.pid = (u32)pid;
	end.r.head.time_ns = now_ns();
	thread_owners_note(&owners, &end.r.head);
	stranger = stranger_start(tid);
	CHECK_EQ(app_process_thread(&process, &owners, (u32)tid, lived), tid);
	if (stranger > 0) {
		CHECK_EQ(thread_of(&process, (u32)tid), 0);
		CHECK_EQ(app_process_thread(&process, &owners, (u32)tid, lived), tid);
		stranger_end(stranger);
	}
	app_process_close(&process);
	close(ready);
	close(go);
	stranger_end(pid);
}

TEST_MAIN()
