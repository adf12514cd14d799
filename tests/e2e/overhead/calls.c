/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls getppid(), a hundred times every 2 ms: `calls SECONDS` for so long. With `calls SECONDS N`
 * it first makes N calls under a span "counted". `calls SECONDS 0 M` makes M calls every 2 ms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <fathom/fathom.h>

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void calls(long n)
{
	while (n-- > 0)
		syscall(SYS_getppid);
}

int main(int argc, char **argv)
{
	long long end = now_ns() + (long long)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	long counted = argc > 2 ? atol(argv[2]) : 0, each = argc > 3 ? atol(argv[3]) : 100;
	struct fathom_span span;

	if (counted) {
		fathom_init("overhead");
		span = fathom_span_begin("counted");
		calls(counted);
		fathom_span_end(&span);
	}
	for (; now_ns() < end; usleep(2000))
		calls(each);
	return 0;
}
