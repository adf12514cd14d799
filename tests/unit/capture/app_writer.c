/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with libfathom that does as it is told on stdin, a line at a time,
 * and answers each with a line:
 *
 *	listening	1 or 0
 *	spans N		writes N spans with an attribute each
 *	threads N	N threads, one after the other, with a span each
 *	fork		a child with a span of its own; answers with its pid once it listens
 *	die N		N spans, then SIGKILL
 *
 * With the argument "stay" it makes calls inside a span for a fifth of a second instead.
 */
#include <fathom/fathom.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void spans_write(long n, const char *name)
{
	for (long i = 0; i < n; i++) {
		struct fathom_span s = fathom_span_begin(name);

		fathom_span_integer(&s, "i", i);
		fathom_span_end(&s);
	}
}

static void *thread_run(void *arg)
{
	spans_write(1, "thread");
	return arg;
}

static void threads_run(long n)
{
	pthread_t thread;

	for (long i = 0; i < n; i++) {
		if (pthread_create(&thread, NULL, thread_run, NULL) == 0)
			pthread_join(thread, NULL);
	}
}

static void child_run(void)
{
	struct fathom_span s = fathom_span_begin("child"); /* makes its ring */

	fathom_span_end(&s);
	usleep(150000); /* in its first tenth of a second a program writes for who may come */
	while (!fathom_listening())
		usleep(1000);
	spans_write(1, "child");
	pause();
}

static void fork_run(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		child_run();
		_exit(0);
	}
	printf("%d\n", pid);
}

static void span_stay(void)
{
	struct fathom_span s = fathom_span_begin("stay");

	for (int i = 0; i < 200; i++) {
		spans_write(1, "tick");
		usleep(1000);
	}
	fathom_span_end(&s);
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc > 1 && strcmp(argv[1], "stay") == 0) {
		span_stay();
		return 0;
	}

	setvbuf(stdout, NULL, _IOLBF, 0);
	fathom_init("writer");
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		long n = strchr(line, ' ') ? atol(strchr(line, ' ')) : 0;

		if (strncmp(line, "listening", 9) == 0) {
			printf("%d\n", fathom_listening());
			continue;
		}
		if (strncmp(line, "fork", 4) == 0) {
			fork_run();
			continue;
		}
		if (strncmp(line, "threads", 7) == 0)
			threads_run(n);
		else
			spans_write(n, "span");
		if (strncmp(line, "die", 3) == 0)
			raise(SIGKILL);
		printf("done\n");
	}
	return 0;
}
