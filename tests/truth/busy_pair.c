/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that want the same CPU: runnable, as schedstat counts it. */
#include "tests/truth/truth.h"

static pthread_barrier_t both;

static void *thread_run(void *arg)
{
	struct truth truth;
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus) && kept++)
			CPU_CLR(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
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
