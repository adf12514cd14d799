/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in known functions: under a span (inner, middle, outer), beside it (beside), in the kernel
 * (in_kernel), and waits in deep_leaf, with 300 bytes of stack in each function above it.
 * Usage: program MILLISECONDS, of CPU time for each of the first three.
 */
#include <fathom/fathom.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEEP_FRAME() __asm__ volatile("" ::: "memory") /* no call is the last thing */
#define DEEP(name, below)                                                                          \
	__attribute__((noinline)) static void name(int n)                                          \
	{                                                                                          \
		char room[300];                                                                    \
		memset(room, n, sizeof(room));                                                     \
		__asm__ volatile("" ::"r"(room) : "memory");                                       \
		below(room[n & 255]);                                                              \
		__asm__ volatile("" ::"r"(room) : "memory");                                       \
	}

static volatile unsigned long sum;

static long begin_ms; /* behind what a slow machine takes to begin */

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000 - begin_ms;
}

__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 100000; i++)
		sum = sum * 31 + (unsigned long)i;
}

__attribute__((noinline)) static void inner(void)
{
	spin();
	KEEP_FRAME();
}

__attribute__((noinline)) static void middle(void)
{
	inner();
	KEEP_FRAME();
}

__attribute__((noinline)) static void outer(long until_ms)
{
	while (cpu_ms() < until_ms)
		middle();
	KEEP_FRAME();
}

__attribute__((noinline)) static void beside(long until_ms)
{
	while (cpu_ms() < until_ms)
		spin();
	KEEP_FRAME();
}

__attribute__((noinline)) static void in_kernel(long until_ms)
{
	static char zeros[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	while (cpu_ms() < until_ms)
		sum += (unsigned long)read(fd, zeros, sizeof(zeros));
	close(fd);
	KEEP_FRAME();
}

__attribute__((noinline)) static void deep_leaf(int n)
{
	struct timespec time = {0, 50000000 + n};

	syscall(SYS_nanosleep, &time, NULL);
	KEEP_FRAME();
}

DEEP(deep_c, deep_leaf)
DEEP(deep_b, deep_c)
DEEP(deep_a, deep_b)

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 300;
	struct fathom_span span;

	fathom_init("code");
	begin_ms = cpu_ms();
	span = fathom_span_begin("busy");
	outer(ms);
	fathom_span_end(&span);
	beside(2 * ms);
	in_kernel(3 * ms);
	deep_a(1);
	return 0;
}
