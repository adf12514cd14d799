/* SPDX-License-Identifier: Apache-2.0 */
/* `loop N`: makes N calls of getppid in a row, and prints the CPU time of one. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Measures only this thread's own time, not that of others on its CPU. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	double begin = cpu_ns();

	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	printf("ns_per_call %.2f\n", (cpu_ns() - begin) / (double)n);
	return 0;
}
