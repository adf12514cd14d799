/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is never at rest: `churn SECONDS` forks children and makes
 * threads all the time, some by threads and children that were just made. Each
 * makes one getppid. At the end it prints how many threads and processes it made.
 * `churn still SECONDS N`: N threads that each make 10 getppid a second.
 * `churn mixed`: known calls of two kinds, then a computation.
 */
#include <pthread.h>
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

static void churn(double seconds)
{
	double end = now() + seconds;
	unsigned int rounds = 0;

	while (now() < end) {
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

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "mixed") == 0)
		mixed();
	else if (argc == 4 && strcmp(argv[1], "still") == 0)
		still(atof(argv[2]), atoi(argv[3]));
	else if (argc == 2)
		churn(atof(argv[1]));
	else
		return 2;
	return 0;
}
