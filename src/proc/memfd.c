/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that another process has mapped or open may be on a file system that does not answer; any
 * user can provide one. So nothing is asked of a file before it is known to be on the kernel's own
 * mount of memfds, which is found with a memfd of ours. The device of a file stands in the list of
 * mappings. Its mount stands in fdinfo of a descriptor that was opened with O_PATH, which does not
 * ask the file system.
 */
#include "proc/memfd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc/line.h"
#include "proc/maps.h"

#define OPENED_MAX 16 /* so many unknown mappings of that name are opened in one process */
#define DESCRIPTORS_MAX 65536

/* The device and the mount of memfds. */
struct memfd_mount {
	u32 major, minor;
	int id;
};

struct search {
	pid_t pid;
	unsigned int opened;
	unsigned int descriptors; /* that were looked at so far */
	char mapped_name[300];
	struct memfd_mount mount;
	const struct memfd_wanted *wanted;
	struct memfd_found *out;
	size_t room, found;
	bool refused; /* a mapped file could not be opened for lack of a privilege */
};

/* The id of the mount of our descriptor `fd`; negative if the kernel does not tell it. */
static int mount_id(int fd)
{
	char path[48], text[32];
	int id;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (proc_line_read(path, "mnt_id:", text, sizeof(text)) || sscanf(text, "%d", &id) != 1)
		return -1;
	return id;
}

static int mount_find(struct memfd_mount *mount)
{
	int fd = memfd_create("fathom_where", MFD_CLOEXEC);
	struct stat info;
	int err = 0;

	if (fd < 0)
		return -errno;
	mount->id = mount_id(fd);
	if (fstat(fd, &info) || mount->id < 0)
		err = -ENOENT;
	else
		*mount = (struct memfd_mount){major(info.st_dev), minor(info.st_dev), mount->id};
	close(fd);
	return err;
}

/* Opens the target of a link in /proc if it is a memfd. Returns a descriptor or a negative value.
 */
static int memfd_open(const struct search *search, const char *link)
{
	int at = open(link, O_PATH | O_CLOEXEC), fd = -1;
	char path[48];

	if (at < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	if (mount_id(at) == search->mount.id)
		fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	close(at);
	return fd;
}

/* Adds the file to the result if it is wanted, and closes it otherwise. */
static void fd_judge(struct search *search, int fd, u64 inode)
{
	const struct memfd_wanted *wanted = search->wanted;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat info;

	if (seals < 0 || (seals & wanted->seals) != wanted->seals || fstat(fd, &info) ||
	    info.st_ino != inode || (u64)info.st_size != wanted->size_bytes) {
		close(fd);
		return;
	}
	search->out[search->found++] = (struct memfd_found){fd, info.st_ino, info.st_dev};
}

/* Opens it through the mapping: this needs more privilege than descriptors, but no search. */
static int through_mapping(const struct search *search, const struct context_map *map)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", search->pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	return memfd_open(search, path);
}

static bool link_is(int folder, const char *entry, const char *name)
{
	char to[512];
	ssize_t n = readlinkat(folder, entry, to, sizeof(to));

	return n == (ssize_t)strlen(name) && memcmp(to, name, (size_t)n) == 0;
}

static bool inode_is(int fd, u64 inode)
{
	struct stat info;

	return !fstat(fd, &info) && info.st_ino == inode;
}

/* Searches the descriptors of the process for it. */
static int through_descriptor(struct search *search, u64 inode)
{
	char path[300];
	struct dirent *entry;
	int fd = -1;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", search->pid);
	fds = opendir(path);
	while (fds && fd < 0 && (entry = readdir(fds)) && search->descriptors++ < DESCRIPTORS_MAX) {
		if (!link_is(dirfd(fds), entry->d_name, search->mapped_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", search->pid, entry->d_name);
		fd = memfd_open(search, path);
		if (fd >= 0 && !inode_is(fd, inode)) {
			close(fd);
			fd = -1;
		}
	}
	if (fds)
		closedir(fds);
	return fd;
}

/* Whether the caller knows the file, or an earlier mapping showed it. */
static bool is_known(struct search *search, const struct context_map *map)
{
	u64 device = makedev(map->major, map->minor);

	for (size_t i = 0; i < search->wanted->known_count; i++) {
		struct memfd_known *known = &search->wanted->known[i];

		if (known->inode == map->inode && known->device == device) {
			known->mapped = true;
			return true;
		}
	}
	for (size_t i = 0; i < search->found; i++) {
		if (search->out[i].inode == map->inode)
			return true;
	}
	return false;
}

/* Handles one mapping. The walk goes to the last one, to mark all known files that are mapped. */
static int mapping_look(void *arg, const struct context_map *map)
{
	struct search *search = arg;
	bool refused;
	int fd;

	if (!map->inode || !map->shared || map->offset ||
	    strcmp(map->name, search->mapped_name) != 0 || map->major != search->mount.major ||
	    map->minor != search->mount.minor)
		return 0;
	if (is_known(search, map) || search->found == search->room ||
	    search->opened++ >= OPENED_MAX)
		return 0;
	errno = 0;
	fd = through_mapping(search, map);
	refused = fd < 0 && (errno == EPERM || errno == EACCES);
	if (fd < 0)
		fd = through_descriptor(search, map->inode);
	if (fd >= 0)
		fd_judge(search, fd, map->inode);
	else
		search->refused |= refused;
	return 0;
}

int memfd_find(pid_t pid, const struct memfd_wanted *wanted, struct memfd_found *out, size_t room,
	       struct error *e)
{
	struct search search = {
		.pid = context_maps_thread(pid), .wanted = wanted, .out = out, .room = room};
	int err = mount_find(&search.mount);

	if (err)
		return error_set(e, err, "cannot look for %s", wanted->name);
	snprintf(search.mapped_name, sizeof(search.mapped_name), "/memfd:%s (deleted)",
		 wanted->name);
	err = context_maps_walk(search.pid, mapping_look, &search);
	if (!err || err == -E2BIG) /* with too many mappings the rest is ignored */
		err = search.refused && !search.found ? -ENXIO : 0;
	if (!err)
		return (int)search.found;
	for (size_t i = 0; i < search.found; i++)
		close(out[i].fd);
	return error_set(e, err, "cannot look for %s in process %d", wanted->name, pid);
}
