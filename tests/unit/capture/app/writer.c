/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with libfathom that does as it is told on stdin, a line at a time,
 * and answers each with a line:
 *
 *	listening	1 or 0
 *	spans N		writes N spans with an attribute each
 *	threads N	N threads, one after the other, with a span each
 *	fork		a child that ends with us; answers with its pid. A span of it and of the
 *			plugin make their rings; once both are listened to it writes ten of each
 *	die N		N spans, then SIGKILL
 *	open		opens the plugin PLUGIN, which has a libfathom of its own inside
 *	plugin N	N spans of the plugin
 *	beside N	the same by a thread of its own, which stays
 *	exit N		exits, while N threads that stay and others that come write such spans
 *	within N	the same within a span of the program
 *	close		closes it
 *	fakes N		N memfds with the name of a ring, which are none
 *	rings N		N more rings of its own, into which nobody writes
 *	unmap		unmaps those and the fakes
 *
 * With the argument "stay" it makes calls inside a span for a fifth of a second instead.
 */
#include <dlfcn.h>
#include <fathom/fathom.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/app_ring.h"

static void *plugin;
static void (*plugin_spans)(long n);
static int (*plugin_listening)(void);

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

static void plugin_open(void)
{
	plugin = dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	if (plugin) {
		*(void **)&plugin_spans = dlsym(plugin, "plugin_spans");
		*(void **)&plugin_listening = dlsym(plugin, "plugin_listening");
	}
	if (!plugin_spans || !plugin_listening)
		exit(3);
}

static void plugin_within(long n)
{
	struct fathom_span s = fathom_span_begin("outer");

	plugin_spans(n);
	fathom_span_end(&s);
}

static pthread_barrier_t begun, done;
static long beside;

static void *beside_run(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&begun);
		plugin_spans(beside);
		pthread_barrier_wait(&done);
	}
	return arg;
}

static void plugin_beside(long n)
{
	static pthread_t thread;

	if (!beside) {
		pthread_barrier_init(&begun, NULL, 2);
		pthread_barrier_init(&done, NULL, 2);
		if (pthread_create(&thread, NULL, beside_run, NULL))
			exit(6);
	}
	beside = n;
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&done);
}

static void *once_run(void *arg)
{
	plugin_spans(1);
	return arg;
}

static void *ever_run(void *arg)
{
	pthread_t thread;

	for (;;) {
		plugin_spans(100);
		if (pthread_create(&thread, NULL, once_run, NULL) == 0)
			pthread_join(thread, NULL);
	}
	return arg;
}

static void exit_run(long n)
{
	pthread_t thread;

	for (long i = 0; i < n; i++)
		pthread_create(&thread, NULL, ever_run, NULL);
	usleep(2000);
	exit(0);
}

static void plugin_close(void)
{
	plugin_spans = NULL;
	if (dlclose(plugin))
		exit(4);
}

/* Sealed and mapped as a ring is. */
static struct app_ring *fake_make(void)
{
	int fd = memfd_create(APP_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct app_ring *ring = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, APP_RING_BYTES) && !fcntl(fd, F_ADD_SEALS, APP_RING_SEALS))
		ring = mmap(NULL, APP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		exit(5);
	close(fd);
	return ring;
}

static struct app_ring *made[1000];
static long made_count;

static void rings_unmap(void)
{
	while (made_count > 0)
		munmap(made[--made_count], APP_RING_BYTES);
}

static void rings_make(long n, bool sound)
{
	for (long i = 0; i < n && made_count < 1000; i++) {
		struct app_ring *ring = made[made_count++] = fake_make();

		ring->version = APP_RING_VERSION;
		ring->header_bytes = offsetof(struct app_ring, lane);
		ring->lanes = APP_RING_LANES;
		ring->lane_bytes = sizeof(struct app_lane);
		ring->slots = APP_RING_SLOTS;
		ring->pid = (u32)getpid();
		ring->magic = sound ? APP_RING_MAGIC : 0;
	}
}

static void child_run(void)
{
	spans_write(1, "child");
	if (plugin_spans)
		plugin_spans(1);
	usleep(150000); /* in its first tenth of a second a program writes for who may come */
	while (!fathom_listening() || (plugin_listening && !plugin_listening()))
		usleep(1000);
	spans_write(10, "child");
	if (plugin_spans)
		plugin_spans(10);
	pause();
}

static void fork_run(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
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

static void command_run(const char *line)
{
	long n = strchr(line, ' ') ? atol(strchr(line, ' ')) : 0;

	if (strncmp(line, "threads", 7) == 0)
		threads_run(n);
	else if (strncmp(line, "open", 4) == 0)
		plugin_open();
	else if (strncmp(line, "plugin", 6) == 0)
		plugin_spans(n);
	else if (strncmp(line, "beside", 6) == 0)
		plugin_beside(n);
	else if (strncmp(line, "exit", 4) == 0)
		exit_run(n);
	else if (strncmp(line, "within", 6) == 0)
		plugin_within(n);
	else if (strncmp(line, "close", 5) == 0)
		plugin_close();
	else if (strncmp(line, "fakes", 5) == 0)
		rings_make(n, false);
	else if (strncmp(line, "rings", 5) == 0)
		rings_make(n, true);
	else if (strncmp(line, "unmap", 5) == 0)
		rings_unmap();
	else
		spans_write(n, "span");
	if (strncmp(line, "die", 3) == 0)
		raise(SIGKILL);
	printf("done\n");
}

static void *commands_take(void *arg)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "listening", 9) == 0) {
			printf("%d\n", fathom_listening());
		} else if (strncmp(line, "fork", 4) == 0) {
			fork_run();
		} else if (strncmp(line, "leave", 5) == 0) {
			return arg;
		} else {
			command_run(line);
		}
	}
	exit(0);
}

/* The main thread ends, another goes on. */
static void main_leaves(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, commands_take, NULL))
		exit(1);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "stay") == 0) {
		span_stay();
		return 0;
	}

	setvbuf(stdout, NULL, _IOLBF, 0);
	fathom_init("writer");
	printf("ready\n");
	commands_take(NULL);
	main_leaves();
	return 0;
}
