/* SPDX-License-Identifier: Apache-2.0 */
#include "up/port.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LISTENS 0x0a /* TCP_LISTEN, as /proc/net/tcp shows it */

/* The inode of the socket that listens at a port, in a table of the kernel; 0: none does. */
static uint64_t listener_find(const char *table, unsigned int port)
{
	FILE *file = fopen(table, "re");
	uint64_t found = 0;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file)) {
		unsigned int at, state;
		uint64_t inode;

		if (sscanf(line,
			   " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u "
			   "%" SCNu64,
			   &at, &state, &inode) == 3 &&
		    at == port && state == LISTENS)
			found = inode;
	}
	if (file)
		fclose(file);
	return found;
}

static bool has_socket(const char *pid, uint64_t inode)
{
	char path[64 + 256], wanted[64], link[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", inode);
	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%.16s/fd/%s", pid, entry->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		if (n > 0) {
			link[n] = '\0';
			found = strcmp(link, wanted) == 0;
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

static void name_read(const char *pid, char *text, size_t size)
{
	char path[64], name[64] = "?";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	file = fopen(path, "re");
	if (file) {
		if (fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = '\0';
		fclose(file);
	}
	snprintf(text, size, "'%s' (pid %s)", name, pid);
}

bool port_holder(const char *address, char *text, size_t size)
{
	const char *colon = strrchr(address, ':');
	unsigned int port = colon ? (unsigned int)strtoul(colon + 1, NULL, 10) : 0;
	struct dirent *entry;
	bool found = false;
	uint64_t inode;
	DIR *dir;

	inode = listener_find("/proc/net/tcp", port);
	inode = inode ? inode : listener_find("/proc/net/tcp6", port);
	dir = inode ? opendir("/proc") : NULL;
	while (dir && !found && (entry = readdir(dir))) {
		found = *entry->d_name >= '1' && *entry->d_name <= '9' &&
			has_socket(entry->d_name, inode);
		if (found)
			name_read(entry->d_name, text, size);
	}
	if (dir)
		closedir(dir);
	return found;
}
