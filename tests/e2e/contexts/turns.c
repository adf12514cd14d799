/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes up the same span again and again: a hundred times it makes a call under it, and others for
 * 1 ms under none, without ever waiting.
 */
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

int main(void)
{
	usleep(500000); /* until it is followed */
	for (int i = 0; i < 100; i++) {
		long long end = now_ns() + 1000000;

		otel_thread_ctx_v1 = &turns;
		getppid();
		otel_thread_ctx_v1 = NULL;
		while (now_ns() < end)
			getppid();
	}
	return 0;
}
