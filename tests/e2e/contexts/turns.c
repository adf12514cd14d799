/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes up the same span again and again: a hundred times it makes a call under it, and others for
 * 1 ms under none, 20 us apart, without ever waiting. With an argument: sleeps twice in each of ten
 * spans, with 2 ms of user code in between, and once outside of them.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bare.h"

__thread struct record *otel_thread_ctx_v1 __attribute__((visibility("default")));

static struct record turns = {"the first trace.", "TURNS...", 1, 1, 0};

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void spin_us(int us)
{
	long long end = now_ns() + us * 1000ll;

	while (now_ns() < end)
		;
}

static int sleeps_run(void)
{
	for (int i = 0; i < 10; i++) {
		memcpy(turns.span, "SLEEPS.0", sizeof(turns.span));
		turns.span[7] = (char)('0' + i);
		otel_thread_ctx_v1 = &turns;
		usleep(5000);
		spin_us(2000);
		usleep(5000);
		spin_us(1000);
		otel_thread_ctx_v1 = NULL;
		spin_us(1000);
		usleep(3000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	(void)argv;
	usleep(500000); /* until it is followed */
	if (argc > 1)
		return sleeps_run();
	for (int i = 0; i < 100; i++) {
		long long end = now_ns() + 1000000;

		otel_thread_ctx_v1 = &turns;
		getppid();
		otel_thread_ctx_v1 = NULL;
		do {
			getppid();
			spin_us(20);
		} while (now_ns() < end);
	}
	return 0;
}
