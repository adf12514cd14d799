/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose tracepoints are known: `e2e-events N`, once somebody listens,
 *
 *	(no span)	getppid, twice
 *	work		getppid, N times
 *	  child		a child is forked and runs /bin/true
 *	sleeper		on another thread: nanosleep of 2 ms, 5 times
 *
 * and prints the pid, the tid of that thread, and the pid of the child.
 */
#include <fathom/fathom.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long sleeper;

static void sleep_ms(long ms)
{
	struct timespec pause = {0, ms * 1000000};

	nanosleep(&pause, NULL);
}

static void *sleep_run(void *arg)
{
	struct fathom_span span = fathom_span_begin("sleeper");

	sleeper = syscall(SYS_gettid);
	for (int i = 0; i < 5; i++)
		sleep_ms(2);
	fathom_span_end(&span);
	return NULL;
}

static pid_t child_run(void)
{
	struct fathom_span span = fathom_span_begin("child");
	pid_t child = fork();

	if (child == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		exit(1);
	fathom_span_end(&span);
	return child;
}

int main(int argc, char **argv)
{
	struct fathom_span span;
	pthread_t thread;
	pid_t child;

	fathom_init("e2e-events");
	span = fathom_span_begin("not heard, perhaps");
	fathom_span_end(&span);
	sleep_ms(150); /* in its first tenth of a second a program writes for who may come */
	for (int i = 0; i < 10000 && !fathom_listening(); i++)
		sleep_ms(1);
	sleep_ms(200); /* for who looks where the context is */
	syscall(SYS_getppid);
	syscall(SYS_getppid);
	span = fathom_span_begin("work");
	for (long i = argc > 1 ? atol(argv[1]) : 1; i > 0; i--)
		syscall(SYS_getppid);
	child = child_run();
	fathom_span_end(&span);
	if (pthread_create(&thread, NULL, sleep_run, NULL) || pthread_join(thread, NULL))
		return 1;
	printf("%d %ld %d\n", getpid(), sleeper, child);
	return 0;
}
