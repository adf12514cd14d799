/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `lttng [ROUNDS]`: measures begin and end of a span as two LTTng-UST tracepoints, in bursts as
 * in span.c, and prints the median. Fails if no session has them enabled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_span.h"

#define BURST 400

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double burst(uint64_t *id)
{
	double begin = now_ns();

	for (int i = 0; i < BURST; i++) {
		++*id;
		lttng_ust_tracepoint(fathom_bench, span_begin, *id, ~*id, *id, *id - 1,
				     "GET /thumbnail");
		lttng_ust_tracepoint(fathom_bench, span_end, *id);
	}
	return (now_ns() - begin) / BURST;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The session daemon enables the tracepoints after the process has connected. */
static int enabled_wait(void)
{
	for (int i = 0; i < 50; i++) {
		if (lttng_ust_tracepoint_enabled(fathom_bench, span_begin) &&
		    lttng_ust_tracepoint_enabled(fathom_bench, span_end))
			return 0;
		usleep(100000);
	}
	return -1;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	double *ns = calloc((size_t)(rounds > 0 ? rounds : 1), sizeof(*ns));
	uint64_t id = 1;

	if (!ns || rounds < 1 || enabled_wait()) {
		fprintf(stderr, "lttng: no session has fathom_bench:* enabled, or not a number of "
				"rounds\n");
		free(ns);
		return 1;
	}
	for (int i = 0; i < rounds; i++)
		ns[i] = burst(&id);
	qsort(ns, (size_t)rounds, sizeof(*ns), by_value);
	printf("ns_per_call %.2f\n", ns[rounds / 2]);
	free(ns);
	return 0;
}
