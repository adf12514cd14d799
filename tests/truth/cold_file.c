/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/vfs.h>

#include "tests/truth/truth.h"

#define TMPFS_MAGIC 0x01021994
#define RAMFS_MAGIC 0x858458f6

int truth_cold_file(size_t size, int flags)
{
	const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/var/tmp";
	char path[512], *block = calloc(1, 65536);
	struct statfs info;
	int fd, again;

	snprintf(path, sizeof(path), "%s/truth_XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	TRUTH_TRY(fd);
	again = open(path, O_RDWR | O_CLOEXEC | flags);
	unlink(path);
	if (fstatfs(fd, &info) || info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC)
		TRUTH_SKIP("%s is in memory: set TMPDIR to a folder on a disk", folder);
	if (again < 0)
		TRUTH_SKIP("the file system of %s refuses to open so", folder);
	for (size_t done = 0; done < size; done += 65536)
		TRUTH_TRY(write(fd, block, 65536));
	TRUTH_TRY(fsync(fd));
	TRUTH_TRY(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	close(fd);
	free(block);
	return again;
}
