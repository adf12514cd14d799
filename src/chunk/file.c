/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open_regular(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/* The owner of the directory may differ from the user who writes into it. */
static int give_to_owner_of(int dir, int fd)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return -errno;
	if (st.st_uid == geteuid())
		return 0;
	return fchown(fd, st.st_uid, st.st_gid) < 0 ? -errno : 0;
}

int file_make(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = give_to_owner_of(dir, fd);
	if (err) {
		unlinkat(dir, name, 0);
		close(fd);
		return err;
	}
	return fd;
}

int file_create(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return -errno;
	return file_make(dir, name);
}

int file_open_write(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

ssize_t file_read_at(int fd, void *data, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)data + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int file_write(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_replace(int dir, const char *name, const void *data, size_t len, bool sync)
{
	char temporary[64];
	int fd, err;

	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	fd = file_create(dir, temporary);
	if (fd < 0)
		return fd;
	err = file_write(fd, data, len);
	if (!err && sync && fsync(fd) < 0)
		err = -errno;
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(dir, temporary, dir, name) < 0)
		err = -errno;
	if (err)
		unlinkat(dir, temporary, 0);
	return err;
}

int file_read_open(int fd, size_t max, void **data, size_t *len)
{
	struct stat st;
	ssize_t n;
	char *all;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	all = malloc((size_t)st.st_size + 1);
	n = all ? file_read_at(fd, all, (size_t)st.st_size, 0) : -ENOMEM;
	if (n < 0) {
		free(all);
		return (int)n;
	}
	all[n] = '\0';
	*data = all;
	*len = (size_t)n;
	return 0;
}

int file_read_all(int dir, const char *name, size_t max, void **data, size_t *len)
{
	int fd = file_open_regular(dir, name), err;

	if (fd < 0)
		return fd;
	err = file_read_open(fd, max, data, len);
	close(fd);
	return err;
}
