/* SPDX-License-Identifier: Apache-2.0 */
/* Reads partial files by their paths. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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
		return error_say(e, err, "%s is damaged: map its chunks again ('fathom map')",
				 path);
	case -ENOEXEC:
		return error_say(e, -EBADMSG,
				 "%s is no partial file: name a recording, or what 'fathom map' "
				 "wrote",
				 path);
	case -EINVAL:
		return error_say(e, err,
				 "cannot read %s: it is a device, a pipe or a socket, and a "
				 "partial file is a regular file",
				 path);
	default:
		return error_set(e, err, "cannot read %s", path);
	}
}

/* A path that the user named may be a symbolic link. */
static int path_read(const char *path, void **data, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno; /* a socket */
	err = file_read_open(fd, FILE_BYTES_MAX, data, bytes);
	close(fd);
	return err;
}

int partial_file_read(struct partial_file **out, const char *path,
		      const struct partial_options *options, struct error *e)
{
	void *data = NULL;
	size_t bytes = 0;
	int err = path_read(path, &data, &bytes);

	if (!err)
		err = partial_file_parse(out, data, bytes, options);
	if (err == -EBADMSG && !partial_file_is_one(data, bytes))
		err = -ENOEXEC; /* for the message alone */
	free(data);
	return err ? read_fail(path, err, e) : 0;
}
