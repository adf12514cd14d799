/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that sleeps until a time: timer. */
#include <poll.h>

#include "tests/truth/truth.h"

static void sleeps_absolute(void)
{
	struct truth truth;
	int64_t asleep = 0;

	truth_begin(&truth, "sleep", "clock_nanosleep until a time");
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

int main(void)
{
	sleeps_absolute();
	sleeps_relative();
	sleeps_in_poll();
	return 0;
}
