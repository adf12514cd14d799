/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With LD_PRELOAD: lets a program see a wall clock that a test sets. The file that the variable
 * STEPPED_CLOCK names has, as a binary number of 64 bits, how many nanoseconds it is ahead. The
 * program maps it, so that it follows it at once, also as another user.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t none;
static const volatile int64_t *ahead_ns = &none;
static int (*clock_gettime_next)(clockid_t id, struct timespec *t);

__attribute__((constructor)) static void stepped_begin(void)
{
	const char *path = getenv("STEPPED_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(none), PROT_READ, MAP_SHARED, fd, 0);

	clock_gettime_next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT,
									  "clock_gettime");
	if (map == MAP_FAILED)
		abort();
	ahead_ns = map;
	close(fd);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int err = clock_gettime_next ? clock_gettime_next(id, t)
				     : (int)syscall(SYS_clock_gettime, id, t);
	int64_t ns;

	if (err || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return err;
	ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec + *ahead_ns;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}

int gettimeofday(struct timeval *out, void *zone)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	out->tv_sec = t.tv_sec;
	out->tv_usec = t.tv_nsec / 1000;
	return 0;
}
