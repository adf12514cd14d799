/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 50 threads, each with 10 root spans, each of these with 10 child spans, each
 * around one system call: getpid, getppid, gettid, nanosleep, openat, close,
 * write, fstat, futex, clock_nanosleep.
 */
#include <fathom/fathom.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 50
#define ROOTS 10

static int sink;
static pthread_barrier_t all_there;

static const char *const names[] = {"getpid", "getppid", "gettid", "nanosleep", "openat",
				    "close",  "write",	 "fstat",  "futex",	"clock_nanosleep"};
#define CALLS (sizeof(names) / sizeof(names[0]))

/* One call of that name; -1: it failed. */
static long call_make(size_t which, int *file)
{
	struct timespec pause = {.tv_nsec = 100000};
	unsigned int word = 0;
	struct stat status;

	switch (which) {
	case 0:
		return syscall(SYS_getpid);
	case 1:
		return syscall(SYS_getppid);
	case 2:
		return syscall(SYS_gettid);
	case 3:
		return syscall(SYS_nanosleep, &pause, NULL);
	case 4:
		*file = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
		return *file;
	case 5:
		return syscall(SYS_close, *file);
	case 6:
		return syscall(SYS_write, sink, "x", 1);
	case 7:
		return syscall(SYS_fstat, sink, &status);
	case 8:
		return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
	default:
		return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

static void *thread_run(void *arg)
{
	long number = (long)arg, failed = 0;
	int file = -1;

	pthread_barrier_wait(&all_there);
	for (int i = 0; i < ROOTS; i++) {
		struct fathom_span root = fathom_span_begin("root");

		fathom_span_integer(&root, "thread", number);
		for (size_t which = 0; which < CALLS; which++) {
			struct fathom_span child = fathom_span_begin(names[which]);

			failed += call_make(which, &file) < 0;
			fathom_span_end(&child);
		}
		fathom_span_end(&root);
	}
	return (void *)failed;
}

int main(void)
{
	struct timespec pause = {.tv_nsec = 1000000};
	pthread_t threads[THREADS];
	struct fathom_span first;
	long failed = 0;

	sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
	fathom_init("fifty");
	first = fathom_span_begin("first");
	fathom_span_end(&first);
	usleep(150000); /* in its first tenth of a second a program writes for who may come */
	for (int i = 0; i < 10000 && !fathom_listening(); i++)
		nanosleep(&pause, NULL);
	pause.tv_nsec = 200000000; /* for who looks where the context is */
	nanosleep(&pause, NULL);
	pthread_barrier_init(&all_there, NULL, THREADS);
	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, thread_run, (void *)i))
			return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		void *result = NULL;

		pthread_join(threads[i], &result);
		failed += (long)result;
	}
	return failed != 0;
}
