/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that could run, and have to wait for their turn on a CPU. */
#include <sys/stat.h>

#include "traps.h"

/* Prints its number, and goes on when a byte comes. */
static void wait_recorder(void)
{
	char byte;

	printf("%d\n", getpid());
	fflush(stdout);
	TRUTH_TRY(read(0, &byte, 1) == 1 ? 0 : -1);
}

static void *loop(void *arg)
{
	for (;;)
		;
	return arg;
}

/*
 * Sleeps so often, on a CPU where another thread uses up the quota of both. Prints for each sleep
 * when it began, when it was over, and when the thread had its turn.
 */
static int sleeps_run(long times, char **argv)
{
	pthread_t thread;

	(void)argv;
	truth_pin();
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	wait_recorder();
	if (pthread_create(&thread, NULL, loop, NULL))
		return 1;
	for (long i = 0; i < times; i++) {
		int64_t begin = truth_now(), until = begin + 30 * MS;

		sleep_until(until);
		printf("%lld %lld %lld\n", (long long)begin, (long long)until,
		       (long long)truth_now());
	}
	fflush(stdout);
	_exit(0);
}

/*
 * Fills so many MiB of memory with random bytes in one call, which takes more than its quota, on a
 * CPU that a process outside of the cgroup wants, too. Prints what it got.
 */
static int fills_run(long mib, char **argv)
{
	size_t size = (size_t)mib << 20;
	char *memory = malloc(size);
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	(void)argv;
	if (!memory || fd < 0)
		return 1;
	truth_pin();
	memset(memory, 0, size);
	wait_recorder();
	printf("%zd\n", read(fd, memory, size));
	fflush(stdout);
	_exit(0);
}

/* Computes for so many ms on the same CPU. */
static int rival_run(long ms, char **argv)
{
	(void)argv;
	truth_pin();
	spin_ms(ms);
	return 0;
}

/*
 * A child stops itself so many times. That wakes its parent, which takes the CPU from it for 5 ms
 * before it has come to sleep, if the kernel lets it, and lets it go on 5 ms later.
 */
static int stops_run(long times, char **argv)
{
	struct sched_param first = {.sched_priority = 1};
	pid_t child;

	(void)argv;
	truth_pin();
	wait_recorder();
	child = fork();
	TRUTH_TRY(child);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			raise(SIGSTOP);
	}
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		TRUTH_SKIP("no real-time priority: %s", strerror(errno));
	for (long i = 0; i < times; i++) {
		TRUTH_TRY(waitpid(child, NULL, WUNTRACED));
		spin_ms(5);
		sleep_until(truth_now() + 5 * MS);
		TRUTH_TRY(kill(child, SIGCONT));
	}
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) != child;
}

const struct trap traps_turns[] = {
	{"sleeps", sleeps_run}, {"fills", fills_run}, {"rival", rival_run},
	{"stops", stops_run},	{NULL, NULL},
};
