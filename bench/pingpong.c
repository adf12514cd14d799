/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `pingpong N [alone]`: sends a byte N times through a pipe to another process on the same CPU,
 * which returns it through a second pipe: two context switches and two wake-ups. Prints the CPU
 * time of both processes: their CPU is never idle, and the time of others on it is not included.
 * With `alone` this process answers itself: the same calls without a switch or wake-up.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double used_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* Binds to the last CPU that this process may use; the child inherits that. */
static int pin(void)
{
	cpu_set_t allowed, one;
	int last = -1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			last = cpu;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static bool pass_on(int in, int out)
{
	char byte;

	return read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1;
}

/* Returns the other process; 0: there is none, -1: it could not be created. */
static pid_t answer_start(const int there[2], const int back[2], bool alone)
{
	pid_t child = alone ? 0 : fork();

	if (alone || child < 0)
		return child;
	if (child == 0) {
		close(there[1]);
		close(back[0]);
		while (pass_on(there[0], back[1]))
			;
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	return child;
}

int main(int argc, char **argv)
{
	bool alone = argc > 2 && strcmp(argv[2], "alone") == 0;
	long n = argc > 1 ? atol(argv[1]) : 100000;
	int there[2], back[2];
	char byte = 'x';
	double begin;
	pid_t child;

	if (pin() || pipe(there) || pipe(back) || (child = answer_start(there, back, alone)) < 0) {
		perror("pingpong");
		return 1;
	}
	begin = used_ns(RUSAGE_SELF);
	for (long i = 0; i < n; i++) {
		if (write(there[1], &byte, 1) != 1 || (alone && !pass_on(there[0], back[1])) ||
		    read(back[0], &byte, 1) != 1) {
			perror("pingpong");
			return 1;
		}
	}
	close(there[1]);
	if (child && waitpid(child, NULL, 0) != child) {
		perror("pingpong");
		return 1;
	}
	printf("ns_per_call %.2f\n",
	       (used_ns(RUSAGE_SELF) - begin + used_ns(RUSAGE_CHILDREN)) / (double)n);
	return 0;
}
