/* SPDX-License-Identifier: Apache-2.0 */
/* Block I/O that others issue, that is merged, split, or done later. */
#include "traps.h"

#define PART (64 << 10)

/* A new file on a disk, gone when it is closed. */
static int file_new(size_t size, int flags)
{
	const char *directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/var/tmp";
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);

	if (fd < 0 || fallocate(fd, 0, 0, (off_t)size))
		TRUTH_SKIP("no file can be made in %s: %s", directory, strerror(errno));
	return fd;
}

static char *buffer_new(size_t size)
{
	void *buffer = NULL;

	if (posix_memalign(&buffer, 4096, size))
		exit(1);
	memset(buffer, 'x', size);
	return buffer;
}

/* Writes so many MiB past the cache, each in one call: more than one request takes. */
static int direct_run(long mib, char **argv)
{
	size_t size = (size_t)mib << 20;
	int fd = file_new(size, O_DIRECT);
	char *buffer = buffer_new(size);

	(void)argv;
	for (int i = 0; i < 4; i++) {
		if (pwrite(fd, buffer, size, 0) != (ssize_t)size)
			TRUTH_SKIP("no direct I/O here: %s", strerror(errno));
	}
	return 0;
}

/* Dirties so many MiB; the kernel writes them back when it is told to, without anybody's wait. */
static int dirty_run(long mib, char **argv)
{
	int fd = file_new((size_t)mib << 20, 0);
	char *buffer = buffer_new(PART);

	(void)argv;
	for (long i = 0; i < (mib << 20) / PART; i++)
		TRUTH_TRY(pwrite(fd, buffer, PART, i * PART));
	TRUTH_TRY(syscall(SYS_syncfs, fd));
	return 0;
}

/* Writes back its own pages, and asks the device to flush. */
static int flush_run(long times, char **argv)
{
	int fd = file_new(1 << 20, 0);
	char *buffer = buffer_new(4096);

	(void)argv;
	for (long i = 0; i < times; i++) {
		TRUTH_TRY(pwrite(fd, buffer, 4096, i * 8192));
		TRUTH_TRY(fsync(fd));
	}
	return 0;
}

const struct trap traps_blocks[] = {
	{"direct", direct_run},
	{"dirty", dirty_run},
	{"flush", flush_run},
	{NULL, NULL},
};
