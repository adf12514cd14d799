// SPDX-License-Identifier: Apache-2.0
#include "capture/kernel/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

#define NEAR_MAX 3

/* Mounts tracefs without a place in any directory. Returns a descriptor or a negative errno. */
static int tracefs_mount(void)
{
	int context = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), mount = -1, events, err;

	if (context < 0)
		return -errno;
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mount = syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	err = -errno;
	close(context);
	if (mount < 0)
		return err;
	events = openat(mount, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = -errno;
	close(mount);
	return events < 0 ? err : events;
}

int tracefs_open(struct error *e)
{
	static const char *const places[] = {"/sys/kernel/tracing/events",
					     "/sys/kernel/debug/tracing/events"};
	const char *closed = NULL;
	int fd;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno == EACCES && !closed)
			closed = places[i];
	}
	fd = tracefs_mount();
	if (fd < 0 && closed)
		return error_say(e, EACCES,
				 "--event has no permission to read %s: record as root, or with "
				 "CAP_DAC_READ_SEARCH",
				 closed);
	if (fd < 0)
		return error_set(
			e, fd, "--event needs tracefs, which is not mounted and cannot be opened");
	return fd;
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static DIR *directory_at(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

static int subsystem_list(int events, const char *subsystem, struct tracefs_names *names)
{
	DIR *dir = directory_at(events, subsystem);
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		char path[640], *name;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/id", subsystem, entry->d_name);
		/* AT_EACCESS also counts capabilities */
		if (faccessat(events, path, R_OK, AT_EACCESS) != 0) {
			names->closed |= errno == EACCES;
			continue; /* no directory of an event, or an event that perf cannot open */
		}
		if (asprintf(&name, "%s:%s", subsystem, entry->d_name) < 0)
			err = -ENOMEM;
		else if ((err = vec_push(&names->list, name)))
			free(name);
	}
	if (dir)
		closedir(dir);
	return err;
}

int tracefs_list(int events, struct tracefs_names *names)
{
	DIR *dir = directory_at(events, ".");
	struct dirent *entry;
	int err = dir ? 0 : -errno;

	while (!err && (entry = readdir(dir))) {
		/* events of ftrace itself are no tracepoints */
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "ftrace") != 0)
			err = subsystem_list(events, entry->d_name, names);
	}
	if (dir)
		closedir(dir);
	if (names->list.count)
		qsort(names->list.data, names->list.count, sizeof(char *), name_compare);
	return err;
}

void tracefs_names_free(struct tracefs_names *names)
{
	for (size_t i = 0; i < names->list.count; i++)
		free(names->list.data[i]);
	vec_free(&names->list);
}

int tracefs_read(int events, const char *name, const char *file, char *buffer, size_t size)
{
	const char *colon = strchr(name, ':');
	size_t used = 0;
	char path[640];
	ssize_t n;
	int fd;

	if (!colon)
		return -EINVAL;
	snprintf(path, sizeof(path), "%.*s/%s/%s", (int)(colon - name), name, colon + 1, file);
	fd = openat(events, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (used + 1 < size && (n = read(fd, buffer + used, size - 1 - used)) > 0)
		used += n;
	close(fd);
	buffer[used] = '\0';
	return used ? 0 : -EIO;
}

/* ---- what was meant ---- */

static int far_from(const char *name, const char *wanted)
{
	const char *last = strchr(wanted, ':'), *own = strchr(name, ':');
	int d = text_distance(name, wanted), e = last && own ? text_distance(own, last) + 1 : 99;

	if (last && strlen(last) > 5 && strstr(name, last + 1))
		return 1;
	return d < e ? d : e;
}

void tracefs_near(const struct tracefs_names *names, const char *wanted, char *buffer, size_t size)
{
	int most = (int)strlen(wanted) / 4 + 1, shown = 0;
	size_t used = 0;

	buffer[0] = '\0';
	for (int d = 0; d <= most && shown < NEAR_MAX; d++) {
		for (size_t i = 0; i < names->list.count && shown < NEAR_MAX; i++) {
			const char *name = names->list.data[i];

			if (far_from(name, wanted) != d || used + strlen(name) + 3 > size)
				continue;
			used += (size_t)snprintf(buffer + used, size - used, "%s%s",
						 shown ? ", " : "", name);
			shown++;
		}
		if (shown)
			break;
	}
}
