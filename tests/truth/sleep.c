/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that sleeps until a time: timer. Where others want its CPU it is runnable then. */
#include <poll.h>

#include "tests/truth/truth.h"

static void sleeps_absolute(const char *what)
{
	struct truth truth;
	int64_t asleep = 0;

	truth_begin(&truth, "sleep", what);
	for (int i = 0; i < 10; i++) {
		int64_t begin = truth_now();

		sleep_until(begin + 20 * MS);
		asleep += 20 * MS;
	}
	truth_end(&truth, "timer", asleep);
}

static void sleeps_relative(void)
{
	struct timespec pause = {.tv_nsec = 20 * MS};
	struct truth truth;

	truth_begin(&truth, "sleep", "nanosleep");
	for (int i = 0; i < 10; i++)
		syscall(SYS_nanosleep, &pause, NULL);
	truth_end(&truth, "timer", 200 * MS);
}

static void sleeps_in_poll(void)
{
	struct truth truth;

	truth_begin(&truth, "sleep", "poll of nothing with a time-out");
	for (int i = 0; i < 10; i++)
		poll(NULL, 0, 20);
	truth_end(&truth, "timer", 200 * MS);
}

/* A child that is in a loop on its parent's CPU, and is not preempted by who wakes up. */
static pid_t rival_begin(void)
{
	const struct sched_param none = {0};
	pid_t pid;

	truth_pin();
	pid = fork();
	TRUTH_TRY(pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		busy_until(INT64_MAX);
	}
	TRUTH_TRY(sched_setscheduler(0, SCHED_BATCH, &none));
	return pid;
}

int main(void)
{
	pid_t rival;

	sleeps_absolute("clock_nanosleep until a time");
	sleeps_relative();
	sleeps_in_poll();
	rival = rival_begin();
	sleeps_absolute("clock_nanosleep, then its turn");
	kill(rival, SIGKILL);
	return waitpid(rival, NULL, 0) != rival;
}
