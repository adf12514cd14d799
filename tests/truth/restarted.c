/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps that are interrupted by SIGSTOP and go on by restart_syscall after
 * SIGCONT: timer, and other while the thread is stopped.
 */
#include "tests/truth/truth.h"

#define ROUNDS 5

struct shared {
	int asleep;	    /* which sleep the child is in, from 1 */
	int64_t away_ns;    /* from the signal on, in all */
	int64_t stopped_ns; /* from when it was seen stopped */
};

static void sleep_often(struct shared *shared)
{
	struct timespec pause = {.tv_nsec = 80 * MS};
	struct truth truth;
	char expect[96];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	truth_begin(&truth, "restarted", "nanosleep through SIGSTOP");
	for (int i = 0; i < ROUNDS; i++) {
		__atomic_store_n(&shared->asleep, i + 1, __ATOMIC_RELEASE);
		syscall(SYS_nanosleep, &pause, NULL);
	}
	snprintf(expect, sizeof(expect), "\"timer_ns\":%lld,\"other_ns\":%lld",
		 (long long)(ROUNDS * 80 * MS - shared->away_ns), (long long)shared->stopped_ns);
	truth_say(&truth, expect);
	_exit(0);
}

int main(void)
{
	struct shared *shared = truth_share(sizeof(*shared));
	pid_t child = fork();

	TRUTH_TRY(child);
	if (!child)
		sleep_often(shared);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t begin, seen;

		while (__atomic_load_n(&shared->asleep, __ATOMIC_ACQUIRE) <= i)
			sleep_until(truth_now() + 1 * MS);
		sleep_until(truth_now() + 20 * MS);
		begin = truth_now();
		TRUTH_TRY(kill(child, SIGSTOP));
		TRUTH_TRY(waitpid(child, NULL, WUNTRACED));
		seen = truth_now();
		sleep_until(seen + 20 * MS);
		shared->stopped_ns += truth_now() - seen;
		shared->away_ns += truth_now() - begin;
		TRUTH_TRY(kill(child, SIGCONT));
	}
	wait(NULL);
	return 0;
}
