/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that want the same CPU: runnable, as schedstat counts it. */
#include "tests/truth/truth.h"

static pthread_barrier_t both;

static void *thread_run(void *arg)
{
	struct truth truth;

	truth_pin();
	pthread_barrier_wait(&both);
	truth_begin(&truth, "busy_pair", "two loops on one CPU");
	busy_until(truth_now() + 400 * MS);
	truth_end_runnable(&truth);
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, thread_run, NULL))
			exit(1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
