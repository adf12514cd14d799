/* SPDX-License-Identifier: Apache-2.0 */
/* Where a partial file is written: beside what it replaces, so that it replaces it at once. */
#include "map/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/file.h"

/* What is there already is replaced only if it is a file: a device is not. */
static int path_check(const char *path, struct error *e)
{
	size_t length = strlen(path);
	struct stat st;

	if (!length || path[length - 1] == '/')
		return error_set(e, length ? EISDIR : ENOENT, "cannot write '%s'", path);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : error_set(e, errno, "cannot write %s", path);
	if (S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode))
		return error_set(e, EISDIR, "cannot write %s", path);
	return error_say(e, EINVAL,
			 "cannot write %s: it is %s, and only a regular file is replaced", path,
			 S_ISLNK(st.st_mode) ? "a symbolic link" : "a device, a pipe or a socket");
}

/* A file without a name in the directory of `path`. -EOPNOTSUPP: such files are not known there. */
static int nameless_open(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = dir ? open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
	int err = !dir ? -ENOMEM : fd < 0 ? -errno : fd;

	free(dir);
	return err == -EISDIR || err == -EINVAL ? -EOPNOTSUPP : err;
}

static int named_open(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

/* Whether a file can be made there, where a file cannot do without a name. */
static int named_try(const char *name)
{
	int fd = named_open(name);

	if (fd < 0)
		return fd;
	close(fd);
	return unlink(name) < 0 ? -errno : 0;
}

int partial_target_open(struct partial_target *target, const char *path, struct error *e)
{
	struct partial_target t = {.path = path};
	int err = path_check(path, e);

	if (err)
		return err;
	if (asprintf(&t.beside, "%s.%d.new", path, (int)getpid()) < 0)
		return error_set(e, ENOMEM, "cannot write %s", path);
	t.fd = nameless_open(path);
	err = t.fd == -EOPNOTSUPP ? named_try(t.beside) : t.fd < 0 ? t.fd : 0;
	if (err) {
		free(t.beside);
		return error_set(e, err, "cannot write %s", path);
	}
	*target = t;
	return 0;
}

static int bytes_put_down(int fd, const struct bytes *bytes)
{
	int err = file_write(fd, bytes->data, bytes->count);

	return err ? err : fsync(fd) < 0 ? -errno : 0;
}

/* Gives the file without a name the one beside. It cannot where /proc is not mounted. */
static int name_give(const struct partial_target *t)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", t->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, t->beside, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int named_write(const struct partial_target *t, const struct bytes *bytes)
{
	int fd = named_open(t->beside), err;

	if (fd < 0)
		return fd;
	err = bytes_put_down(fd, bytes);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (err)
		unlink(t->beside);
	return err;
}

/* While the name beside exists, no signal may end the process: the name would stay. */
static int replace(const struct partial_target *t, const struct bytes *bytes)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (t->fd < 0 || name_give(t) < 0)
		err = named_write(t, bytes);
	if (!err && rename(t->beside, t->path) < 0) {
		err = -errno;
		unlink(t->beside);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int partial_target_write(struct partial_target *t, struct partial_file *file, struct error *e)
{
	struct bytes bytes = {0};
	int err = partial_file_pack(file, &bytes);

	if (!err && t->fd >= 0)
		err = bytes_put_down(t->fd, &bytes);
	err = err ? err : replace(t, &bytes);
	bytes_free(&bytes);
	return err ? error_set(e, err, "cannot write %s", t->path) : 0;
}

void partial_target_close(struct partial_target *t)
{
	if (t->beside && t->fd >= 0)
		close(t->fd);
	free(t->beside);
	t->beside = NULL;
}

int partial_file_write(struct partial_file *file, const char *path, struct error *e)
{
	struct partial_target target;
	int err = partial_target_open(&target, path, e);

	if (err)
		return err;
	err = partial_target_write(&target, file, e);
	partial_target_close(&target);
	return err;
}
