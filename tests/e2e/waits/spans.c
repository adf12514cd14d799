/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A known time under spans, and outside of them: spans ROUNDS [turns|short|fill]. Each round
 * computes and sleeps 10 ms under a span `work`, then does the same under none. With turns, it
 * computes in each under the same span `work`, and sleeps under none; with short, it sleeps 1 ms
 * under one. With fill, it waits at once under one, 3 ms in each round, in one call that writes a
 * page in each.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fathom/fathom.h>

#define MS 1000000

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Of the clock on the wall, which costs no system call. */
static void computes(void)
{
	long long end = now_ns() + 10 * MS;

	while (now_ns() < end)
		;
}

static void sleeps(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

static void takes_turns(int rounds)
{
	struct fathom_span span = fathom_span_begin("work");

	fathom_span_detach(&span);
	for (int i = 0; i < rounds; i++) {
		sleeps(10 * MS);
		fathom_span_attach(&span);
		computes();
		fathom_span_detach(&span);
	}
	fathom_span_end(&span);
}

static void sleeps_in_short_ones(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct fathom_span span = fathom_span_begin("work");

		sleeps(MS);
		fathom_span_end(&span);
	}
}

/* A child takes a page of a full pipe each 3 ms. */
static void fills(int rounds)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = rounds * page;
	char *data = calloc(rounds + 1, page);
	struct fathom_span span;
	int ends[2];

	if (!data || pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, (int)page) < 0 ||
	    write(ends[1], data, page) != (ssize_t)page)
		exit(1);
	if (fork() == 0) {
		close(ends[1]); /* it ends with the other */
		for (int i = 0; i <= rounds; i++) {
			sleeps(3 * MS);
			if (read(ends[0], data, page) != (ssize_t)page)
				_exit(1);
		}
		_exit(0);
	}
	span = fathom_span_begin("work");
	if (write(ends[1], data, bytes) != (ssize_t)bytes)
		exit(1);
	fathom_span_end(&span);
	sleeps(100 * MS); /* its spans are read */
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	if (argc > 2 && strcmp(argv[2], "fill") == 0) {
		fills(rounds);
		return 0;
	}
	sleeps(500 * MS); /* until it is followed */
	if (argc > 2) {
		if (strcmp(argv[2], "turns") == 0)
			takes_turns(rounds);
		else
			sleeps_in_short_ones(rounds);
		return 0;
	}
	for (int i = 0; i < rounds; i++) {
		struct fathom_span span = fathom_span_begin("work");

		computes();
		sleeps(10 * MS);
		fathom_span_end(&span);
		computes();
		sleeps(10 * MS);
	}
	return 0;
}
