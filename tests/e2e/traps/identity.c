/* SPDX-License-Identifier: Apache-2.0 */
/* Threads whose number or name does not stay theirs. */
#include <linux/sched.h>

#include "traps.h"

static char *self;

static void *exec_late(void *arg)
{
	char *argv[] = {self, "after_exec", NULL};

	sleep_until(truth_now() + (int64_t)(long)arg * MS);
	execv("/proc/self/exe", argv);
	return NULL;
}

/* A second thread calls execve after so many ms; the leader sleeps. */
static int exec_second_run(long ms, char **argv)
{
	pthread_t thread;

	self = argv[0];
	if (pthread_create(&thread, NULL, exec_late, (void *)ms))
		return 1;
	for (int i = 0; i < 50; i++)
		syscall(SYS_getuid);
	for (;;)
		pause();
}

static int after_exec_run(long number, char **argv)
{
	(void)number, (void)argv;
	for (int i = 0; i < 70; i++)
		syscall(SYS_getppid);
	sleep_until(truth_now() + 50 * MS);
	return 0;
}

/* A process with this number, if nobody has it. */
static pid_t fork_as(pid_t wanted)
{
	struct clone_args args = {.exit_signal = SIGCHLD,
				  .set_tid = wanted ? (uint64_t)(uintptr_t)&wanted : 0,
				  .set_tid_size = wanted ? 1 : 0};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Three processes, one after the other, with one number: each makes other calls. */
static int reuse_run(long number, char **argv)
{
	static const struct {
		const char *name;
		long call;
		int times;
	} lives[] = {{"first", SYS_getppid, 100},
		     {"second", SYS_getuid, 200},
		     {"third", SYS_getgid, 300}};
	pid_t pid = 0;

	(void)number, (void)argv;
	for (int life = 0; life < 3; life++) {
		pid_t child = fork_as(pid);

		if (child < 0)
			TRUTH_SKIP("a number cannot be chosen for a process: %s", strerror(errno));
		if (!child) {
			prctl(PR_SET_NAME, lives[life].name);
			for (int i = 0; i < lives[life].times; i++)
				syscall(lives[life].call);
			_exit(life);
		}
		TRUTH_TRY(waitpid(child, NULL, 0));
		/* its number is free before it leaves its CPU for the last time (docs/limits.md) */
		usleep(100000);
		pid = child;
	}
	printf("%d\n", pid);
	return 0;
}

/* A thread that changes its name between two sorts of calls. */
static int rename_run(long number, char **argv)
{
	(void)argv;
	prctl(PR_SET_NAME, "before");
	for (long i = 0; i < number; i++)
		syscall(SYS_getuid);
	prctl(PR_SET_NAME, "behind");
	for (long i = 0; i < number; i++)
		syscall(SYS_getppid);
	return 0;
}

static void *outlives(void *arg)
{
	static char byte;
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

	printf("%d\n", *(pid_t *)arg);
	fflush(stdout);
	while (read(0, &byte, 1) == 1)
		if (pread(fd, &byte, 1, 0) != 1)
			_exit(1);
	_exit(0);
}

/*
 * The leader and a child that nobody waits for have ended, and are still in the list of tasks. The
 * other thread reads a file for each byte that comes.
 */
static int zombies_run(long number, char **argv)
{
	static pid_t child;
	pthread_t thread;
	siginfo_t ended;

	(void)number, (void)argv;
	child = fork();
	if (child == 0)
		_exit(5);
	if (child < 0 || waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) ||
	    pthread_create(&thread, NULL, outlives, &child))
		return 1;
	pthread_exit(NULL);
}

/* Each of its calls says which name the thread has then. */
static void *renames(void *arg)
{
	(void)arg;
	for (int name = 0;; name = (name + 1) % 1000) {
		char text[16];

		snprintf(text, sizeof(text), "n%d", name);
		prctl(PR_SET_NAME, text);
		for (int i = 0; i < 10; i++) {
			lseek(-1, name, SEEK_SET);
			usleep(100);
		}
	}
	return NULL;
}

/* So many threads, which change their names all the time. */
static int renaming_run(long number, char **argv)
{
	pthread_t thread;

	(void)argv;
	for (long i = 0; i < number; i++) {
		if (pthread_create(&thread, NULL, renames, NULL))
			return 1;
		usleep(100);
	}
	pause();
	return 0;
}

/* So many children, one after the other, each of which makes a call. */
static int forks_run(long number, char **argv)
{
	(void)argv;
	for (long i = 0; i < number; i++) {
		pid_t child = fork();

		TRUTH_TRY(child);
		if (!child) {
			syscall(SYS_getuid);
			_exit(0);
		}
		TRUTH_TRY(waitpid(child, NULL, 0));
	}
	return 0;
}

const struct trap traps_identity[] = {
	{"exec_second", exec_second_run},
	{"after_exec", after_exec_run},
	{"reuse", reuse_run},
	{"rename", rename_run},
	{"zombies", zombies_run},
	{"renaming", renaming_run},
	{"forks", forks_run},
	{NULL, NULL},
};
