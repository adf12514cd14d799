/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define BUFFER_BYTES 16384 /* more than the longest line */

static int number_parse(char **at, int base, char behind, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(*at, &end, base);
	if (end == *at || errno || *end != behind)
		return -EINVAL;
	*at = end + 1;
	return 0;
}

int context_maps_parse(char *line, struct context_map *map)
{
	struct context_map found = {0};
	uint64_t major, minor;
	char *at = line;

	if (number_parse(&at, 16, '-', &found.start) || number_parse(&at, 16, ' ', &found.end))
		return -EINVAL;
	if (strlen(at) < 5 || at[4] != ' ')
		return -EINVAL;
	found.readable = at[0] == 'r';
	found.executable = at[2] == 'x';
	found.shared = at[3] == 's';
	at += 5;
	if (number_parse(&at, 16, ' ', &found.offset) || number_parse(&at, 16, ':', &major) ||
	    number_parse(&at, 16, ' ', &minor))
		return -EINVAL;
	errno = 0;
	found.inode = strtoull(at, &at, 10);
	if (errno)
		return -EINVAL;
	found.major = (uint32_t)major;
	found.minor = (uint32_t)minor;
	found.name = at + strspn(at, " ");
	*map = found;
	return 0;
}

struct walk {
	char buffer[BUFFER_BYTES];
	size_t filled;
	unsigned int lines;
};

/* Handles the complete lines in the buffer, and removes them. */
static int lines_take(struct walk *walk, int (*each)(void *arg, const struct context_map *map),
		      void *arg)
{
	char *line = walk->buffer, *end;
	size_t left = walk->filled;
	int stop = 0;

	while (!stop && (end = memchr(line, '\n', left))) {
		struct context_map map;

		*end = '\0';
		left -= (size_t)(end + 1 - line);
		if (++walk->lines > CONTEXT_MAPS_MAX)
			return -E2BIG;
		if (!context_maps_parse(line, &map))
			stop = each(arg, &map);
		line = end + 1;
	}
	memmove(walk->buffer, line, left);
	walk->filled = left;
	return stop;
}

static bool has_memory(pid_t tid)
{
	char path[32], to;

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	return readlink(path, &to, 1) >= 0 || errno != ENOENT;
}

pid_t context_maps_thread(pid_t pid)
{
	pid_t found = has_memory(pid) ? pid : 0;
	struct dirent *entry;
	DIR *threads = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (!found)
		threads = opendir(path);
	while (!found && threads && (entry = readdir(threads))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && has_memory(tid))
			found = tid;
	}
	if (threads)
		closedir(threads);
	return found ? found : pid;
}

int context_maps_walk(pid_t pid, int (*each)(void *arg, const struct context_map *map), void *arg)
{
	struct walk walk = {.filled = 0};
	char path[32];
	int fd, stop = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!stop) {
		ssize_t n = read(fd, walk.buffer + walk.filled, sizeof(walk.buffer) - walk.filled);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			stop = n ? -errno : 0;
			break;
		}
		walk.filled += (size_t)n;
		stop = lines_take(&walk, each, arg);
		if (!stop && walk.filled == sizeof(walk.buffer))
			stop = -E2BIG;
	}
	close(fd);
	return stop;
}

int context_memory_read(pid_t pid, uint64_t address, void *to, size_t len)
{
	struct iovec local = {to, len};
	struct iovec remote = {(void *)(uintptr_t)address, len};
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}
