/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `threads [N]`: prints the memory that libfathom takes for a thread that has written as many spans
 * as it has room for: the growth of the process after N such threads, divided by N.
 */
#include <fathom/fathom.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "own_ring.h"

#define THREADS_MAX 512
#define STACK_TOUCHED 16384

static pthread_barrier_t barrier;

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

/* The memory of the process; a page that is mapped several times counts once. */
static long memory_kb(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[128];
	long kb = -1;

	while (f && kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "Pss: %ld kB", &kb);
	if (f)
		fclose(f);
	return kb;
}

/* Touches the stack, so that it is not counted. */
static void stack_touch(void)
{
	volatile char room[STACK_TOUCHED];

	for (size_t i = 0; i < sizeof(room); i += 1024)
		room[i] = 1;
}

static void *worker(void *arg)
{
	stack_touch();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* measured before */
	for (int i = 0; i < APP_RING_SLOTS; i++) {
		struct fathom_span outer = fathom_span_begin("GET /thumbnail");
		struct fathom_span inner = fathom_span_begin("decode");

		fathom_span_end(&inner);
		fathom_span_end(&outer);
	}
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* measured after */
	return arg;
}

static bool threads_start(pthread_t *threads, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 1 ? (unsigned int)atoi(argv[1]) : 64;
	pthread_t threads[THREADS_MAX];
	struct app_ring *ring;
	long before, after;

	fathom_init("bench-threads");
	ring = own_ring_find();
	if (!ring || !count || count > THREADS_MAX ||
	    pthread_barrier_init(&barrier, NULL, count + 1) || !threads_start(threads, count)) {
		fprintf(stderr, "threads: no ring, or another listens to it, or no threads\n");
		return 1;
	}
	app_ring_listen(ring, 1, now_ns() + 60000000000ull);
	pthread_barrier_wait(&barrier);
	memory_kb();
	before = memory_kb();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	after = memory_kb();
	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("kb_per_thread %.1f\n", (double)(after - before) / count);
	if (before < 0 || app_ring_lanes(ring) < count) {
		fprintf(stderr, "threads: no account of memory, or no room for all threads\n");
		return 1;
	}
	app_ring_close(ring);
	return 0;
}
