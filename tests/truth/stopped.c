/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is stopped while it loops: other. */
#include "tests/truth/truth.h"

#define STOPS 5

struct shared {
	int begun, done;    /* by the looping child; by its parent */
	int64_t stopped_ns; /* how long it was, in all */
};

static void loop_until_done(struct shared *shared)
{
	struct truth truth;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	truth_begin(&truth, "stopped", "SIGSTOP to SIGCONT");
	__atomic_store_n(&shared->begun, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE))
		;
	truth_end(&truth, "other", shared->stopped_ns);
	_exit(0);
}

/* From the moment at which it is seen stopped. */
static int64_t stop_once(pid_t child)
{
	int64_t begin;

	sleep_until(truth_now() + 10 * MS);
	TRUTH_TRY(kill(child, SIGSTOP));
	TRUTH_TRY(waitpid(child, NULL, WUNTRACED));
	begin = truth_now();
	sleep_until(begin + 40 * MS);
	begin = truth_now() - begin;
	TRUTH_TRY(kill(child, SIGCONT));
	return begin;
}

int main(void)
{
	struct shared *shared = truth_share(sizeof(*shared));
	int64_t stopped_ns = 0;
	pid_t child = fork();

	TRUTH_TRY(child);
	if (!child)
		loop_until_done(shared);
	while (!__atomic_load_n(&shared->begun, __ATOMIC_ACQUIRE))
		sleep_until(truth_now() + 1 * MS);
	for (int i = 0; i < STOPS; i++)
		stopped_ns += stop_once(child);
	shared->stopped_ns = stopped_ns;
	__atomic_store_n(&shared->done, 1, __ATOMIC_RELEASE);
	wait(NULL);
	return 0;
}
