/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/memfd_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/context_maps.h"

#define MAPPINGS_MAX 8 /* of that name, in one process */
#define DESCRIPTORS_MAX 65536

struct search {
	pid_t pid;
	unsigned int looked;
	char mapped_name[300];
	const struct memfd_wanted *wanted;
	struct memfd_found *out;
};

/* Is it what is wanted? 1 and what was found, or 0 and it is closed. */
static int fd_judge(const struct search *search, int fd, u64 inode)
{
	const struct memfd_wanted *wanted = search->wanted;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat info;

	if (seals < 0 || (seals & wanted->seals) != wanted->seals || fstat(fd, &info) ||
	    info.st_ino != inode || (u64)info.st_size != wanted->size_bytes) {
		close(fd);
		return 0;
	}
	*search->out = (struct memfd_found){fd, info.st_ino, info.st_dev};
	return 1;
}

/* Needs more privilege than what follows, but no walk. */
static int through_mapping(pid_t pid, const struct context_map *map)
{
	struct stat info;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	if (stat(path, &info) || !S_ISREG(info.st_mode))
		return -1;
	return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

/* A copy of the process's own descriptor of that file. */
static int through_descriptor(pid_t pid, u64 inode)
{
	char path[64];
	struct dirent *entry;
	int pidfd, fd = -1, looked = 0;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	if (!fds)
		return -1;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	while (fd < 0 && pidfd >= 0 && (entry = readdir(fds)) && looked++ < DESCRIPTORS_MAX) {
		struct stat info;

		if (fstatat(dirfd(fds), entry->d_name, &info, 0) || info.st_ino != inode ||
		    !S_ISREG(info.st_mode))
			continue;
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);
	}
	if (pidfd >= 0)
		close(pidfd);
	closedir(fds);
	return fd;
}

static int mapping_look(void *arg, const struct context_map *map)
{
	struct search *search = arg;
	int fd;

	if (!map->inode || !map->shared || map->offset ||
	    strcmp(map->name, search->mapped_name) != 0)
		return 0;
	if (++search->looked > MAPPINGS_MAX)
		return -E2BIG;
	fd = through_mapping(search->pid, map);
	if (fd < 0)
		fd = through_descriptor(search->pid, map->inode);
	return fd < 0 ? 0 : fd_judge(search, fd, map->inode);
}

int memfd_find(pid_t pid, const struct memfd_wanted *wanted, struct memfd_found *out,
	       struct error *e)
{
	struct search search = {.pid = pid, .wanted = wanted, .out = out};
	int found;

	snprintf(search.mapped_name, sizeof(search.mapped_name), "/memfd:%s (deleted)",
		 wanted->name);
	found = context_maps_walk(pid, mapping_look, &search);
	if (found == -E2BIG)
		return 0;
	if (found < 0)
		return error_set(e, found, "cannot look for %s in process %d", wanted->name, pid);
	return found;
}
