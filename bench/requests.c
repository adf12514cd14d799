/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `requests COUNT`: links the calls of so many simulated requests, a sixth of them to a service of
 * each kind, 16 at once. Prints the CPU seconds on its one thread, the memory that linking took at
 * most, and how many edges are right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "judge.h"

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long peak_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static struct services services_of_all_kinds(u32 requests, u32 at_once)
{
	struct services all = {0};

	for (int kind = 0; kind < SERVICE_KINDS; kind++) {
		struct service_plan plan = {.kind = (enum service_kind)kind,
					    .at_once = at_once,
					    .requests = requests / SERVICE_KINDS,
					    .seed = 1,
					    .lights = kind == SERVICE_CARRIERS};
		struct services s = services_run(&plan);

		services_append(&all, &s);
		services_free(&s);
	}
	return all;
}

/* What a few requests teach, one at a time. */
static int teach(struct learned *learned)
{
	struct services alone = services_of_all_kinds(SERVICE_KINDS * 200, 1);
	struct link_input in = services_input(&alone);
	int err = request_learn(&in, learned);

	services_free(&alone);
	return err;
}

int main(int argc, char **argv)
{
	u32 requests = argc == 2 ? (u32)strtoul(argv[1], NULL, 10) : 0;
	struct learned learned = {0};
	struct services all;
	struct link_input in;
	struct edge *edges;
	struct figures f;
	double begin, seconds;
	long before;

	if (!requests) {
		fprintf(stderr, "usage: requests COUNT\n");
		return 1;
	}
	all = services_of_all_kinds(requests, 16);
	in = services_input(&all);
	in.learned = &learned;
	edges = calloc(in.exchange_count + 1, sizeof(*edges));
	if (!edges || teach(&learned)) {
		fprintf(stderr, "requests: no memory\n");
		return 1;
	}
	before = peak_kb();
	begin = cpu_seconds();
	if (request_link(&in, edges)) {
		fprintf(stderr, "requests: no memory\n");
		return 1;
	}
	seconds = cpu_seconds() - begin;
	f = edges_judge(&all, edges);
	printf("exchanges %zu\nseconds %.4f\nbytes %ld\nright_percent %.2f\n", in.exchange_count,
	       seconds, (peak_kb() - before) * 1024, recall_of(&f) / 100.0);
	free(edges);
	learned_free(&learned);
	services_free(&all);
	return 0;
}
