/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that waits until another hands a lock over: lock. One that waits for work, which the
 * value 0 tells: idle. One that times out: timer.
 */
#include <linux/futex.h>

#include "tests/truth/truth.h"

#define ROUNDS 10
#define CONTENDED 2 /* of a mutex that has waiters */

/* A word for each round; `until` ends it. */
struct rounds {
	const char *what, *part;
	uint32_t value, until;
	uint32_t words[ROUNDS];
	int64_t ended_ns[ROUNDS];
};

static void *waiter_run(void *arg)
{
	struct rounds *r = arg;
	struct truth truth;
	int64_t waited = 0;

	truth_begin(&truth, "futex", r->what);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t begin = truth_now();

		while (__atomic_load_n(&r->words[i], __ATOMIC_ACQUIRE) == r->value)
			syscall(SYS_futex, &r->words[i], FUTEX_WAIT_PRIVATE, r->value, NULL, NULL,
				0);
		if (r->ended_ns[i] > begin)
			waited += r->ended_ns[i] - begin;
	}
	truth_end(&truth, r->part, waited);
	return NULL;
}

static void waits(struct rounds *r)
{
	pthread_t waiter;

	for (int i = 0; i < ROUNDS; i++)
		r->words[i] = r->value;
	if (pthread_create(&waiter, NULL, waiter_run, r))
		exit(1);
	for (int i = 0; i < ROUNDS; i++) {
		sleep_until(truth_now() + 20 * MS);
		r->ended_ns[i] = truth_now();
		__atomic_store_n(&r->words[i], r->until, __ATOMIC_RELEASE);
		syscall(SYS_futex, &r->words[i], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	pthread_join(waiter, NULL);
}

static void times_out(void)
{
	struct timespec limit = {.tv_nsec = 20 * MS};
	uint32_t word = CONTENDED;
	struct truth truth;

	truth_begin(&truth, "futex", "times out");
	for (int i = 0; i < ROUNDS; i++)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word, &limit, NULL, 0);
	truth_end(&truth, "timer", ROUNDS * 20 * MS);
}

int main(void)
{
	static struct rounds lock = {
		.what = "handed over by another thread",
		.part = "lock",
		.value = CONTENDED,
	};
	static struct rounds work = {
		.what = "given work by another thread",
		.part = "idle",
		.until = 1,
	};

	waits(&lock);
	waits(&work);
	times_out();
	return 0;
}
