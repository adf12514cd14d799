/* SPDX-License-Identifier: Apache-2.0 */
/* Partial files by their paths. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/file.h"
#include "map/file/file.h"

#define FILE_BYTES_MAX ((size_t)1 << 36)

static int read_fail(const char *path, int err, struct error *e)
{
	switch (err) {
	case -EPROTO:
		return error_say(e, err,
				 "%s was written by another version of fathom: map its chunks "
				 "again ('fathom map')",
				 path);
	case -EBADMSG:
		return error_say(e, err,
				 "%s is no partial file, or is damaged: map its chunks again "
				 "('fathom map')",
				 path);
	default:
		return error_set(e, err, "cannot read %s", path);
	}
}

int partial_file_read(struct partial_file **out, const char *path,
		      const struct partial_options *options, struct error *e)
{
	void *data = NULL;
	size_t bytes = 0;
	int err = file_read_all(AT_FDCWD, path, FILE_BYTES_MAX, &data, &bytes);

	if (!err)
		err = partial_file_parse(out, data, bytes, options);
	free(data);
	return err ? read_fail(path, err, e) : 0;
}

/* What is there already is replaced only if it is a file: a device is not. */
static int target_check(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) ? 0 : S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
}

static int bytes_write(const char *path, const struct bytes *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), err;

	if (fd < 0)
		return -errno;
	err = file_write(fd, bytes->data, bytes->count);
	if (!err && fsync(fd) < 0)
		err = -errno;
	if (close(fd) < 0 && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

int partial_file_write(struct partial_file *file, const char *path, struct error *e)
{
	struct bytes bytes = {0};
	char *beside = NULL;
	int err = target_check(path);

	if (!err && asprintf(&beside, "%s.%d.new", path, (int)getpid()) < 0)
		err = -ENOMEM;
	err = err ? err : partial_file_pack(file, &bytes);
	err = err ? err : bytes_write(beside, &bytes);
	if (!err && rename(beside, path) < 0) {
		err = -errno;
		unlink(beside);
	}
	free(beside);
	bytes_free(&bytes);
	return err ? error_set(e, err, "cannot write %s", path) : 0;
}
