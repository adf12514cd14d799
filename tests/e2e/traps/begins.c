/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread is in the middle of when a recording begins. */
#include <linux/futex.h>
#include <poll.h>
#include <sys/timerfd.h>

#include "traps.h"

#define LONG_S 1000

static void *in_poll(void *arg)
{
	static int ends[2];
	struct pollfd fd = {.events = POLLIN};

	(void)arg;
	prctl(PR_SET_NAME, "in_poll");
	TRUTH_TRY(pipe(ends));
	fd.fd = ends[0];
	syscall(SYS_poll, &fd, 1, LONG_S * 1000);
	return NULL;
}

static void *in_futex(void *arg)
{
	static int word;
	struct timespec until = {.tv_sec = LONG_S};

	(void)arg;
	prctl(PR_SET_NAME, "in_futex");
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &until, NULL, 0);
	return NULL;
}

static void *in_nanosleep(void *arg)
{
	struct timespec until = {.tv_sec = LONG_S};

	(void)arg;
	prctl(PR_SET_NAME, "in_nanosleep");
	syscall(SYS_nanosleep, &until, NULL);
	return NULL;
}

static void *in_clock(void *arg)
{
	struct timespec until = {.tv_sec = LONG_S};

	(void)arg;
	prctl(PR_SET_NAME, "in_clock");
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &until, NULL);
	return NULL;
}

/* A thread in each call that restart_syscall goes on with, for longer than a test. */
static int asleep_run(long number, char **argv)
{
	static void *(*const threads[])(void *) = {in_poll, in_futex, in_nanosleep, in_clock};
	pthread_t thread;

	(void)number, (void)argv;
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		if (pthread_create(&thread, NULL, threads[i], NULL))
			return 1;
	pause();
	return 0;
}

/* Makes calls that take no time for so many ms. */
static int ask_run(long ms, char **argv)
{
	int64_t until = truth_now() + ms * MS;

	(void)argv;
	while (truth_now() < until)
		for (int i = 0; i < 100; i++)
			syscall(SYS_getppid);
	return 0;
}

struct swapped {
	int from, to, keep; /* a pipe; its reading end once more */
	volatile int got;
};

static void *swapped_reads(void *arg)
{
	struct swapped *s = arg;
	char byte;

	for (;;) {
		if (read(s->from, &byte, 1) == 1)
			s->got++;
		else
			usleep(50);
	}
	return NULL;
}

/* So many threads read pipes; while one sleeps there, its number is given to a timer. */
static int swapped_run(long number, char **argv)
{
	struct swapped *all = calloc((size_t)number, sizeof(*all));
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK); /* none waits for it */
	pthread_t thread;

	(void)argv;
	for (long i = 0; i < number; i++) {
		int ends[2];

		TRUTH_TRY(pipe(ends));
		all[i] = (struct swapped){ends[0], ends[1], dup(ends[0]), 0};
		if (pthread_create(&thread, NULL, swapped_reads, &all[i]))
			return 1;
	}
	for (long i = 0;; i = (i + 1) % number) {
		int got = all[i].got;

		dup2(timer, all[i].from);
		TRUTH_TRY(write(all[i].to, "", 1));
		while (all[i].got == got)
			usleep(10);
		dup2(all[i].keep, all[i].from);
	}
}

const struct trap traps_begins[] = {
	{"asleep", asleep_run},
	{"ask", ask_run},
	{"swapped", swapped_run},
	{NULL, NULL},
};
