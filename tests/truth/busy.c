/* SPDX-License-Identifier: Apache-2.0 */
/* A loop in user code: user. Calls that work in the kernel: kernel. */
#include "tests/truth/truth.h"

static void loops(void)
{
	struct truth truth;
	int64_t run;

	truth_begin(&truth, "busy", "loop");
	run = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int64_t begin = truth_now(); truth_now() < begin + 300 * MS;)
		for (volatile int i = 0; i < 10000; i++)
			;
	run = clock_ns(CLOCK_THREAD_CPUTIME_ID) - run;
	truth_end(&truth, "user", run);
}

/* The CPU time of the calls, by the thread's clock around each. */
static void calls(void)
{
	static char data[4 << 20];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct truth truth;
	int64_t run = 0;

	TRUTH_TRY(fd);
	memset(data, 1, sizeof(data)); /* no faults later */
	truth_begin(&truth, "busy", "reads of /dev/zero");
	for (int64_t begin = truth_now(); truth_now() < begin + 300 * MS;) {
		int64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		TRUTH_TRY(read(fd, data, sizeof(data)));
		run += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	}
	truth_end(&truth, "kernel", run);
}

int main(void)
{
	loops();
	calls();
	return 0;
}
