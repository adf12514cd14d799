/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a span for its program: begin and end of an active span. It is measured in three
 * ways: recorded with timestamps of the processor's counter (if the kernel's clock uses it),
 * recorded with CLOCK_MONOTONIC, and while nobody listens. The three take turns, in bursts that
 * fit into the ring. Between bursts the ring is emptied, which is not timed.
 * `bench-span [ROUNDS]` prints the median and the best of the bursts.
 */
#include <fathom/fathom.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/counter.h"
#include "own_ring.h"

#define BURST 400
#define SIDES 3

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

static void record_ignore(void *owner, const struct record_head *head)
{
	++*(u64 *)owner;
}

static double burst_fathom(void)
{
	u64 begin = now_ns();

	for (int i = 0; i < BURST; i++) {
		struct fathom_span span = fathom_span_begin("GET /thumbnail");

		fathom_span_end(&span);
	}
	return (double)(now_ns() - begin) / BURST;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"recorded by rdtsc", "recorded by the clock",
					    "nobody listens"};
	int rounds = argc > 1 ? atoi(argv[1]) : 5000;
	u32 counted = counter_is_clock() ? 1 : 0;
	double *ns[SIDES] = {0};
	u64 records = 0, damaged = 0, lost;
	struct app_ring_sink sink = {.record = record_ignore, .owner = &records};
	struct app_ring *ring;

	fathom_init("bench-span");
	ring = own_ring_find();
	for (int side = 0; side < SIDES; side++)
		ns[side] = calloc((size_t)(rounds > 0 ? rounds : 1), sizeof(double));
	if (!ring || rounds < 1 || !ns[0] || !ns[1] || !ns[2]) {
		fprintf(stderr, "bench-span: no ring, or another listens to it, or not a number of "
				"rounds\n");
		return 1;
	}
	for (int i = 0; i < rounds; i++) {
		app_ring_listen(ring, 1, now_ns() + 1000000000ull);
		app_ring_count(ring, counted);
		ns[0][i] = burst_fathom();
		app_ring_drain(ring, &sink, &damaged);
		app_ring_count(ring, 0);
		ns[1][i] = burst_fathom();
		app_ring_drain(ring, &sink, &damaged);
		app_ring_listen(ring, 0, 0);
		ns[2][i] = burst_fathom();
	}
	for (int side = counted ? 0 : 1; side < SIDES; side++) {
		qsort(ns[side], (size_t)rounds, sizeof(double), by_value);
		printf("%-21s %6.1f ns median, %6.1f ns best, begin and end of a span\n",
		       names[side], ns[side][rounds / 2], ns[side][0]);
		free(ns[side]);
	}
	lost = app_ring_lost(ring);
	printf("%llu records, %llu damaged, %llu lost\n", (unsigned long long)records,
	       (unsigned long long)damaged, (unsigned long long)lost);
	app_ring_close(ring);
	return damaged || lost ? 1 : 0;
}
