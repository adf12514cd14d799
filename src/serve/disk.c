/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

uint64_t disk_free_bytes(int log_dir)
{
	struct statvfs disk;

	if (fstatvfs(log_dir, &disk))
		return UINT64_MAX;
	return (uint64_t)disk.f_bavail * disk.f_frsize;
}

void disk_check(int log_dir, uint64_t least, atomic_bool *is_full)
{
	bool was_full = atomic_load(is_full);

	if (was_full)
		least += least / 8;
	if (was_full != (disk_free_bytes(log_dir) < least))
		atomic_store(is_full, !was_full);
}

bool disk_is_short(int log_dir, uint64_t least, const char *text)
{
	static const int errors[] = {ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EMFILE};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (strstr(text, strerrordesc_np(errors[i])))
			return true;
	}
	return disk_free_bytes(log_dir) < least;
}

static int file_write(int fd, const unsigned char *at, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		bytes -= (size_t)n;
	}
	return fsync(fd) ? -errno : 0;
}

int refused_keep(int log_dir, const struct log_entry *entry, struct error *e)
{
	char name[40];
	int fd, err;

	snprintf(name, sizeof(name), "refused-%" PRIu64, entry->begin);
	fd = openat(log_dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : file_write(fd, entry->data, entry->bytes);
	if (fd >= 0)
		close(fd);
	return err ? error_set(e, err, "cannot keep what the store refuses in %s", name) : 0;
}
