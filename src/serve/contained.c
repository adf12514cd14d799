/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/contained.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define READ_NS UINT64_C(5000000000)
#define PROCESSES_MAX 65536

uint32_t contained_number(uint32_t pid)
{
	char path[64], line[256];
	uint32_t number = pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last)
			number = (uint32_t)strtoul(last + 1, NULL, 10);
	}
	if (file)
		fclose(file);
	return number;
}

/* The last 64 digits in a row of the name of a cgroup, which are the id of a container. */
static bool id_find(const char *text, char id[CONTAINED_DIGITS + 1])
{
	bool found = false;

	while (*text) {
		size_t digits = strspn(text, "0123456789abcdef");

		if (digits == CONTAINED_DIGITS) {
			memcpy(id, text, digits);
			id[digits] = '\0';
			found = true;
		}
		text += digits ? digits : 1;
	}
	return found;
}

/* The container that a process is in, by the cgroups of all hierarchies. */
static bool container_read(uint32_t pid, char id[CONTAINED_DIGITS + 1])
{
	char path[64], line[4096];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = id_find(line, id);
	if (file)
		fclose(file);
	return found;
}

static void processes_read(struct contained *c)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	c->list.count = 0;
	while (dir && !err && c->list.count < PROCESSES_MAX && (entry = readdir(dir))) {
		struct contained_process p = {.pid = (uint32_t)strtoul(entry->d_name, NULL, 10)};

		if (!p.pid || !container_read(p.pid, p.id))
			continue;
		p.number = contained_number(p.pid);
		err = vec_push(&c->list, p);
	}
	if (dir)
		closedir(dir);
}

/* What was there may be another process by now. */
static uint32_t list_find(const struct contained *c, const char *id, uint32_t number)
{
	char now[CONTAINED_DIGITS + 1];

	for (size_t i = 0; i < c->list.count; i++) {
		const struct contained_process *p = &c->list.data[i];

		if (p->number == number && strncmp(p->id, id, strlen(id)) == 0 &&
		    container_read(p->pid, now) && strcmp(p->id, now) == 0 &&
		    contained_number(p->pid) == number)
			return p->pid;
	}
	return 0;
}

uint32_t contained_find(struct contained *c, const char *id, uint32_t number)
{
	uint64_t now_ns = clock_now_ns();
	uint32_t pid;

	if (strlen(id) < CONTAINED_DIGITS_MIN)
		return 0;
	pid = list_find(c, id, number);
	if (pid || (c->read_ns && now_ns - c->read_ns < READ_NS))
		return pid;
	processes_read(c);
	c->read_ns = now_ns;
	return list_find(c, id, number);
}

void contained_free(struct contained *c)
{
	vec_free(&c->list);
}
