/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is never at rest: `churn SECONDS` forks children and makes
 * threads all the time, some by threads and children that were just made. Each
 * makes one getppid. At the end, or at a SIGTERM, it prints how many rounds it made.
 * `churn still SECONDS N`: N threads that each make 10 getppid a second.
 * `churn mixed`: known calls of two kinds, then a computation.
 * `churn into CGROUP FILE`: a child that is made in that cgroup, with the file open, reads it again
 * and again until there is nothing more to read from the standard input.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *leaf(void *arg)
{
	syscall(SYS_getppid);
	return arg;
}

static void *branch(void *arg)
{
	pthread_t thread;

	syscall(SYS_getppid);
	if (pthread_create(&thread, NULL, leaf, NULL) == 0)
		pthread_join(thread, NULL);
	return arg;
}

static void child(void)
{
	pthread_t thread;
	pid_t pid;

	syscall(SYS_getppid);
	if (pthread_create(&thread, NULL, leaf, NULL) == 0)
		pthread_join(thread, NULL);
	pid = fork();
	if (pid == 0) {
		syscall(SYS_getppid);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	_exit(0);
}

static volatile sig_atomic_t is_over;

static void end_note(int number)
{
	is_over = number;
}

static void churn(double seconds)
{
	double end = now() + seconds;
	unsigned int rounds = 0;

	signal(SIGTERM, end_note);
	while (now() < end && !is_over) {
		pthread_t thread;
		pid_t pid;

		if (pthread_create(&thread, NULL, branch, NULL))
			exit(1);
		pid = fork();
		if (pid == 0)
			child();
		pthread_join(thread, NULL);
		waitpid(pid, NULL, 0);
		rounds++;
	}
	printf("%u\n", rounds);
}

static void *ticks(void *arg)
{
	for (double end = now() + *(double *)arg; now() < end;) {
		syscall(SYS_getppid);
		usleep(100000);
	}
	return NULL;
}

static void still(double seconds, int n)
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));

	for (int i = 0; threads && i < n; i++)
		pthread_create(&threads[i], NULL, ticks, &seconds);
	for (int i = 0; threads && i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void mixed(void)
{
	FILE *file = fopen("/etc/hostname", "r");

	for (int i = 0; i < 1000; i++) {
		syscall(SYS_getppid);
		syscall(SYS_getuid);
	}
	usleep(50000);
	for (double end = now() + 0.2; now() < end;)
		; /* now() is no system call */
	if (file)
		fclose(file);
}

static void reads(int file)
{
	struct pollfd end = {.fd = 0, .events = POLLIN};
	char byte;

	while (poll(&end, 1, 10) == 0)
		if (pread(file, &byte, 1, 0) != 1)
			_exit(1);
	_exit(0);
}

static int into(const char *cgroup, const char *name)
{
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
	int file = open(name, O_RDONLY), status;
	pid_t child;

	args.cgroup = (uint64_t)open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0)
		reads(file);
	if (child < 0)
		return 77;
	printf("%d\n", child);
	fflush(stdout);
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "mixed") == 0)
		mixed();
	else if (argc == 4 && strcmp(argv[1], "still") == 0)
		still(atof(argv[2]), atoi(argv[3]));
	else if (argc == 4 && strcmp(argv[1], "into") == 0)
		return into(argv[2], argv[3]);
	else if (argc == 2)
		churn(atof(argv[1]));
	else
		return 2;
	return 0;
}
