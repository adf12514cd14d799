/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that waits until another hands a futex over: lock. One that times out: timer. */
#include <linux/futex.h>

#include "tests/truth/truth.h"

#define ROUNDS 10

static uint32_t word;
static int64_t handed_ns[ROUNDS];

static void *waiter_run(void *arg)
{
	struct truth truth;
	int64_t waited = 0;

	truth_begin(&truth, "futex", "handed over by another thread");
	for (uint32_t i = 0; i < ROUNDS; i++) {
		int64_t begin = truth_now();

		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == i)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
		if (handed_ns[i] > begin)
			waited += handed_ns[i] - begin;
	}
	truth_end(&truth, "lock", waited);
	return arg;
}

static void hands_over(void)
{
	pthread_t waiter;

	if (pthread_create(&waiter, NULL, waiter_run, NULL))
		exit(1);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		sleep_until(truth_now() + 20 * MS);
		handed_ns[i] = truth_now();
		__atomic_store_n(&word, i + 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	pthread_join(waiter, NULL);
}

static void times_out(void)
{
	struct timespec limit = {.tv_nsec = 20 * MS};
	struct truth truth;

	truth_begin(&truth, "futex", "times out");
	for (int i = 0; i < ROUNDS; i++)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word, &limit, NULL, 0);
	truth_end(&truth, "timer", ROUNDS * 20 * MS);
}

int main(void)
{
	hands_over();
	times_out();
	return 0;
}
