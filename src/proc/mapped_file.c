// SPDX-License-Identifier: Apache-2.0
#include "proc/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Opens a path with O_PATH, which walks the path but asks the file itself nothing. If the work was
 * taken away meanwhile, the descriptor is closed.
 */
static int path_find(struct foreign_looks *looks, u64 blamed, const char *path)
{
	int err = foreign_look_begin(looks, blamed), fd;

	if (err)
		return err;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	err = foreign_look_end(looks);
	if (!err || fd < 0)
		return err ? err : fd;
	close(fd);
	return err;
}

static int facts_ask(struct foreign_looks *looks, u64 device, int fd, struct stat *info)
{
	int err = foreign_look_begin(looks, device), ended, asked;

	if (err)
		return err;
	asked = fstat(fd, info) ? -errno : 0;
	ended = foreign_look_end(looks);
	return ended ? ended : asked;
}

/*
 * Opens the file by its name, which may be another file by now. A caller that may not use the
 * mapping always comes here. There a path that hangs counts as a device that hangs, which is the
 * most likely cause.
 */
static int named_find(struct foreign_looks *looks, const struct foreign_file *file, u64 blamed)
{
	char path[PATH_MAX + 32];

	if (file->name[0] != '/')
		return -ENOENT;
	if (!file->pid)
		return path_find(looks, blamed, file->name);
	if (snprintf(path, sizeof(path), "/proc/%d/root%s", file->pid, file->name) >= PATH_MAX)
		return -ENAMETOOLONG;
	return path_find(looks, blamed, path);
}

/* Opens the file through the mapping or by its name; *is_named tells which. */
static int file_find(struct foreign_looks *looks, const struct foreign_file *file, bool *is_named)
{
	u64 device = FOREIGN_DEVICE(file->major, file->minor);
	u64 process = FOREIGN_PROCESS(file->pid);
	char path[96];
	int fd;

	*is_named = true;
	if (!file->pid)
		return named_find(looks, file, device);
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", file->pid,
		 (unsigned long long)file->start, (unsigned long long)file->end);
	fd = path_find(looks, process, path);
	if (fd < 0 && fd != -EBUSY && fd != -ECANCELED)
		return named_find(looks, file, fd == -EPERM || fd == -EACCES ? device : process);
	*is_named = false;
	return fd;
}

int foreign_file_find(struct foreign_looks *looks, const struct foreign_file *file,
		      struct stat *info)
{
	bool is_named;
	struct stat found;
	int fd = file_find(looks, file, &is_named), err;

	if (fd < 0)
		return fd;
	err = facts_ask(looks, FOREIGN_DEVICE(file->major, file->minor), fd, &found);
	if (!err && is_named && found.st_ino != file->inode)
		err = -ESTALE;
	if (err) {
		close(fd);
		return err;
	}
	*info = found;
	return fd;
}

int foreign_file_read(struct foreign_looks *looks, const struct foreign_file *file, int found,
		      int (*read)(void *arg, int fd), void *arg)
{
	int err = foreign_look_begin(looks, FOREIGN_DEVICE(file->major, file->minor)), fd, ended;
	char path[48];

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		err = -errno;
	} else {
		err = read(arg, fd);
		close(fd); /* within the look: it can ask the file system, too */
	}
	ended = foreign_look_end(looks);
	return ended ? ended : err;
}
