// SPDX-License-Identifier: Apache-2.0
#include "base/host_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define HOST_NAMESPACE "time:[4026531834]" /* the initial one has this number for good */

static struct {
	pthread_once_t once;
	int err;
	int64_t monotonic_ns, boottime_ns;
} own = {.once = PTHREAD_ONCE_INIT};

int host_clock_namespace(const char *process, const char *name, char *text, size_t size)
{
	char path[96];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, name);
	n = readlink(path, text, size - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

static int offset_find(FILE *file, clockid_t id, int64_t *ahead_ns)
{
	const char *wanted = id == CLOCK_MONOTONIC ? "monotonic" : "boottime";
	int64_t seconds, ns;
	char name[32];

	while (fscanf(file, "%31s %" SCNd64 " %" SCNd64, name, &seconds, &ns) == 3) {
		if (strcmp(name, wanted) != 0)
			continue;
		*ahead_ns = seconds * 1000000000 + ns;
		return 0;
	}
	return -EPROTO;
}

/*
 * The kernel shows the offsets of the namespace for children. They are those of
 * the process itself if both are in the same namespace.
 */
int host_clock_offset(const char *process, clockid_t id, int64_t *ahead_ns)
{
	char path[64], at[64], children[64];
	FILE *file;
	int err = host_clock_namespace("self", "time", at, sizeof(at));

	if (err == -ENOENT || (id != CLOCK_MONOTONIC && id != CLOCK_BOOTTIME)) {
		*ahead_ns = 0; /* a kernel without time namespaces */
		return 0;
	}
	if (!err)
		err = host_clock_namespace(process, "time", at, sizeof(at));
	if (!err && strcmp(at, HOST_NAMESPACE) == 0) {
		*ahead_ns = 0;
		return 0;
	}
	if (!err)
		err = host_clock_namespace(process, "time_for_children", children,
					   sizeof(children));
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	if (strcmp(children, at) != 0)
		return -ENOTSUP;
	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", process);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	err = offset_find(file, id, ahead_ns);
	fclose(file);
	return err;
}

static void own_find(void)
{
	own.err = host_clock_offset("self", CLOCK_MONOTONIC, &own.monotonic_ns);
	if (!own.err)
		own.err = host_clock_offset("self", CLOCK_BOOTTIME, &own.boottime_ns);
}

int host_clock_check(void)
{
	pthread_once(&own.once, own_find);
	return own.err;
}

uint64_t host_clock_read_ns(clockid_t id)
{
	uint64_t ns = clock_read_ns(id);

	(void)host_clock_check();
	if (id == CLOCK_MONOTONIC)
		return ns - (uint64_t)own.monotonic_ns;
	return id == CLOCK_BOOTTIME ? ns - (uint64_t)own.boottime_ns : ns;
}

uint64_t host_clock_own_ns(uint64_t host_ns)
{
	(void)host_clock_check();
	return host_ns + (uint64_t)own.monotonic_ns;
}
