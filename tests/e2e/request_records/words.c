/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads wake each other, each on a word of its own, and one of them now and then sleeps on a
 * third word until a time-out. Prints for each of the first two words its address, the tids of who
 * sleeps there and of who wakes, and how often; then the third address.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS 200
#define TIME_OUTS 5

static struct side {
	_Atomic uint32_t word __attribute__((aligned(64)));
	int sleeper, waker, woken;
} sides[2];
static _Atomic uint32_t nobodys __attribute__((aligned(64)));

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, struct timespec *time)
{
	return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, time, NULL, 0);
}

static void turn_await(struct side *own)
{
	while (futex(&own->word, FUTEX_WAIT, 0, NULL))
		;
}

/* Waits until the other one sleeps. */
static void turn_give(struct side *other)
{
	while (futex(&other->word, FUTEX_WAKE, 1, NULL) != 1)
		sched_yield();
}

static void *side_run(void *arg)
{
	struct side *own = arg, *other = &sides[own == &sides[0]];

	own->sleeper = other->waker = (int)syscall(SYS_gettid);
	for (int i = 0; i < TURNS; i++) {
		turn_await(own);
		if (own == &sides[1] && i < TIME_OUTS) {
			struct timespec soon = {.tv_nsec = 1000000};

			futex(&nobodys, FUTEX_WAIT, 0, &soon);
		}
		if (own == &sides[1] && i == TURNS - 1)
			break;
		turn_give(other);
		other->woken++;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, side_run, &sides[i]))
			return 1;
	turn_give(&sides[0]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		printf("%lu %d %d %d\n", (unsigned long)(uintptr_t)&sides[i].word, sides[i].sleeper,
		       sides[i].waker, sides[i].woken);
	printf("%lu\n", (unsigned long)(uintptr_t)&nobodys);
	return 0;
}
