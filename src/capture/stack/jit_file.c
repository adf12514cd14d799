// SPDX-License-Identifier: Apache-2.0
#include "capture/stack/jit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/line.h"

/* The last number of a line of /proc/PID/status. */
static int status_number(u32 pid, const char *name, int which, u32 *number)
{
	char path[48], rest[256], *at = rest, *word;
	int err;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	err = proc_line_read(path, name, rest, sizeof(rest));
	for (int i = 0; !err && (word = strsep(&at, " \t")) && (which < 0 || i <= which);) {
		if (!*word)
			continue;
		*number = (u32)strtoul(word, NULL, 10);
		i++;
	}
	return err;
}

/* Whether the process has our root, in our mount namespace. */
static bool is_our_root(u32 pid, int root)
{
	struct stat its, ours;
	char path[48], its_mounts[64] = "", our_mounts[64] = "";

	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (readlink(path, its_mounts, sizeof(its_mounts) - 1) < 0 ||
	    readlink("/proc/self/ns/mnt", our_mounts, sizeof(our_mounts) - 1) < 0 ||
	    strcmp(its_mounts, our_mounts) != 0)
		return false;
	return !fstat(root, &its) && !stat("/", &ours) && its.st_dev == ours.st_dev &&
	       its.st_ino == ours.st_ino;
}

static int process_know(struct jit_file *file, u32 pid, int root)
{
	u32 uid;
	int err = status_number(pid, "NSpid:", -1, &file->number);

	err = err ? err : status_number(pid, "Uid:", 1, &uid);
	if (err)
		return err;
	file->uid = uid;
	file->ours = is_our_root(pid, root);
	file->known = true;
	return 0;
}

/* Opens the file below a root, out of which no link leads. */
static int map_open(const struct jit_file *file, int root)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct stat info;
	char name[48];
	int fd;

	snprintf(name, sizeof(name), "tmp/perf-%u.map", file->number);
	fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &info) && S_ISREG(info.st_mode) &&
	    (info.st_uid == file->uid || info.st_uid == 0))
		return fd;
	close(fd); /* others may write any name into it */
	return -EPERM;
}

int jit_file_find(struct jit_file *file, u32 pid)
{
	char path[48];
	int root, fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 && !file->known)
		err = process_know(file, pid, root);
	file->gone = root < 0 && errno == ENOENT;
	if (root < 0 && file->known && file->ours)
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || err) {
		if (root >= 0)
			close(root);
		return file->fd >= 0 ? 0 : err ? err : -ESRCH;
	}
	fd = map_open(file, root);
	close(root);
	if (fd < 0)
		return file->fd >= 0 ? 0 : fd;
	if (file->fd >= 0)
		close(file->fd);
	file->fd = fd;
	return 0;
}

bool jit_file_changed(struct jit_file *file)
{
	struct stat now;
	bool same;

	if (fstat(file->fd, &now))
		return true;
	same = now.st_ino == file->read.st_ino && now.st_dev == file->read.st_dev &&
	       now.st_size == file->read.st_size &&
	       now.st_mtim.tv_sec == file->read.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == file->read.st_mtim.tv_nsec;
	file->read = now;
	return !same;
}
