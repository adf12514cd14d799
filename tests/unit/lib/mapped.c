/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the ring a program has mapped: its header, and the lanes of its threads. */
#include "unit/lib/listener.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define THREADS 40			/* more than one lane that begins where a page does */
#define HEADER_BYTES (3 * 4096 + 65536) /* and a page, of whatever size */
#define LANE_BYTES (sizeof(struct app_lane) + 2 * 65536) /* likewise */

static struct listener l;

/* The bytes of all mappings of rings; 0 also if the kernel does not show them. */
static size_t ring_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;
	size_t bytes = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "/memfd:" APP_RING_NAME) &&
		    sscanf(line, "%lx-%lx", &begin, &end) == 2)
			bytes += end - begin;
	}
	if (maps)
		fclose(maps);
	return bytes;
}

static size_t status_kib(const char *name)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	size_t kib = 0;

	while (status && fgets(line, sizeof(line), status)) {
		if (strncmp(line, name, strlen(name)) == 0)
			kib = strtoul(line + strlen(name) + 1, NULL, 10);
	}
	if (status)
		fclose(status);
	return kib;
}

/* Fails with the number of a line. */
#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(1 + __LINE__ % 100);                                                 \
	} while (0)

static void child_run(void (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		run();
		_exit(0);
	}
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static pthread_barrier_t all_there;

static void *thread_says(void *arg)
{
	struct fathom_span s = fathom_span_begin("s");

	fathom_span_end(&s);
	pthread_barrier_wait(&all_there);
	return arg;
}

/* So many threads at once: each has its own lane. */
static void threads_say(void)
{
	pthread_t threads[THREADS];

	EXPECT(pthread_barrier_init(&all_there, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, thread_says, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void run_sizes(void)
{
	size_t first, all;

	(void)fathom_listening();
	EXPECT(listener_find(NULL) == 1);
	first = ring_mapped();
	EXPECT(first > sizeof(struct app_lane) && first <= HEADER_BYTES + LANE_BYTES);
	threads_say();
	all = ring_mapped();
	EXPECT(all > first && all <= first + THREADS * LANE_BYTES);
	threads_say(); /* in the same lanes */
	EXPECT(ring_mapped() <= all + 2 * LANE_BYTES);
}

TEST(a_thread_maps_its_lane)
{
	child_run(run_sizes);
}

/* Locked memory of a program stays in memory, page for page. */
static void run_locked(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		_exit(0); /* its limit is below what the program has without us */
	threads_say();
	EXPECT(status_kib("RssShmem:") <= (HEADER_BYTES + (THREADS + 3) * LANE_BYTES) / 1024);
}

TEST(a_program_that_is_locked)
{
	child_run(run_locked);
}

static void records_expect(void)
{
	listener_drain(&l);
	EXPECT(l.damaged == 0 && app_ring_lost(l.ring) == 0);
	EXPECT(listener_count(&l, RECORD_span_begin) == THREADS);
	EXPECT(listener_count(&l, RECORD_span_end) == THREADS);
}

static void run_all_arrives(void)
{
	(void)fathom_listening();
	listener_start(&l);
	threads_say();
	records_expect();
}

TEST(what_is_in_each_is_read)
{
	child_run(run_all_arrives);
}

/* A program that becomes a daemon, say, closes what it does not know. */
static void run_closed(void)
{
	char path[32], target[64];
	int other;

	(void)fathom_listening();
	listener_start(&l);
	other = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 3; fd < 1024; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n > 18 && strncmp(target, "/memfd:" APP_RING_NAME, 18) == 0 &&
		    !listener_is_lock(fd))
			EXPECT(dup2(other, fd) == fd);
	}
	threads_say();
	records_expect();
}

TEST(no_descriptor_is_needed)
{
	const char *preload = getenv("LD_PRELOAD");

	if (preload && strstr(preload, "vgpreload"))
		SKIP("valgrind maps no memory twice");
	child_run(run_closed);
}

static void spans(int n)
{
	for (int i = 0; i < n; i++) {
		struct fathom_span s = fathom_span_begin("s");

		fathom_span_end(&s);
	}
}

static void memory_limit(rlim_t bytes)
{
	struct rlimit limit;

	EXPECT(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = bytes;
	EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* Begins once there is room for the thread, and not for its lane. */
static void *thread_limited(void *arg)
{
	pthread_barrier_wait(&all_there); /* it is there */
	pthread_barrier_wait(&all_there); /* the limit is */
	errno = 0;
	spans(10);
	EXPECT(app_ring_lost(l.ring) == 20);
	spans(256); /* it looks again, and in vain */
	EXPECT(app_ring_lost(l.ring) == 532);
	EXPECT(errno == 0);
	memory_limit(RLIM_INFINITY);
	spans(300); /* every 256 it looks */
	EXPECT(app_ring_lost(l.ring) < 832);
	return arg;
}

static void run_limited(void)
{
	pthread_t thread;

	(void)fathom_listening();
	listener_start(&l);
	EXPECT(pthread_barrier_init(&all_there, NULL, 2) == 0);
	EXPECT(pthread_create(&thread, NULL, thread_limited, NULL) == 0);
	pthread_barrier_wait(&all_there);
	memory_limit((status_kib("VmSize:") + 64) * 1024);
	pthread_barrier_wait(&all_there);
	EXPECT(pthread_join(thread, NULL) == 0);
	listener_drain(&l);
	EXPECT(l.damaged == 0);
	EXPECT(listener_count(&l, RECORD_span_begin) + listener_count(&l, RECORD_span_end) +
		       app_ring_lost(l.ring) ==
	       1132);
}

/* Records of the thread are counted as lost, until there is room. */
TEST(a_lane_that_cannot_be_mapped)
{
	const char *preload = getenv("LD_PRELOAD");

#ifdef __SANITIZE_ADDRESS__
	SKIP("the sanitizer needs more memory than a limit leaves");
#endif
	if (preload && strstr(preload, "vgpreload"))
		SKIP("valgrind needs memory of its own");
	child_run(run_limited);
}

TEST_MAIN()
