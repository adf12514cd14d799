/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose first act is a span, and that is soon gone:
 *
 *	e2e-first-spans MS [fork]
 *
 *	first		MS milliseconds asleep
 *	  inner		begins and ends before
 *	  thread	on a thread that is called "early"
 *
 * fork: a child does the same in a process of its own, after its parent.
 */
#include <fathom/fathom.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *thread_run(void *arg)
{
	const struct fathom_span *first = arg;
	struct fathom_span span = fathom_span_child(first, "thread");

	prctl(PR_SET_NAME, "early");
	fathom_span_end(&span);
	return NULL;
}

static void first_run(long ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
	struct fathom_span first = fathom_span_begin("first");
	struct fathom_span inner = fathom_span_begin("inner");
	pthread_t thread;

	fathom_span_integer(&inner, "answer", 42);
	fathom_span_end(&inner);
	if (pthread_create(&thread, NULL, thread_run, &first) == 0)
		pthread_join(thread, NULL);
	nanosleep(&pause, NULL);
	fathom_span_end(&first);
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 0;
	int status = 0;
	pid_t child;

	first_run(ms);
	if (argc < 3 || strcmp(argv[2], "fork") != 0)
		return 0;
	child = fork();
	if (child == 0) {
		first_run(ms);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}
