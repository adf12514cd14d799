/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that make more records than a small ring holds, and four that
 * sleep beside them. Prints, for each sleeper, tid and nanoseconds on a CPU.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLEEPS 3
#define SLEEP_NS 20000000

static void *storm(void *arg)
{
	for (volatile int *stop = arg; !*stop;)
		syscall(SYS_getppid);
	return NULL;
}

static void *sleeper(void *arg)
{
	long run = 0;
	FILE *f;

	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
	f = fopen("/proc/thread-self/schedstat", "r");
	if (f && fscanf(f, "%ld", &run) == 1)
		printf("%ld %ld\n", syscall(SYS_gettid), run);
	if (f)
		fclose(f);
	return NULL;
}

int main(void)
{
	static volatile int stop;
	pthread_t storms[2], sleepers[4];

	for (int i = 0; i < 2; i++)
		pthread_create(&storms[i], NULL, storm, (void *)&stop);
	for (int i = 0; i < 4; i++)
		pthread_create(&sleepers[i], NULL, sleeper, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(sleepers[i], NULL);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(storms[i], NULL);
	return 0;
}
