// SPDX-License-Identifier: Apache-2.0
/*
 * The cgroups of a snapshot. In the default hierarchy: each directory, with the kernfs id (its
 * inode number) that process and fork records have. In hierarchies of version 1: the cgroups of
 * containers, known by the id in their name, with their processes, which no other record tells.
 */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/host_clock.h"
#include "capture/scope/scope.h"
#include "capture/state.h"
#include "programs.skel.h"

#define CGROUP_TEXT 1024

static const struct capture_stream life_stream = {.kind = CAPTURE_STREAM_LIFE};

struct cgroup_mount {
	char path[512];
	u32 hierarchy; /* 0: the default one */
};

/* The number of the hierarchy of version 1 that has one of these options; 0: not known. */
static u32 hierarchy_number(const char *options)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096], first[128];
	u32 number, found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *at = options;
		size_t len;

		/* "4:cpu,cpuacct:/path": the first controller identifies it */
		if (sscanf(line, "%u:%127[^:,]", &number, first) != 2)
			continue;
		len = strlen(first);
		while (!found && (at = strstr(at, first))) {
			bool begins = at == options || at[-1] == ',';

			if (begins && (at[len] == ',' || at[len] == '\0'))
				found = number;
			at += len;
		}
	}
	if (file)
		fclose(file);
	return found;
}

/* Parses a line of /proc/self/mounts. False: it is no hierarchy, or its number is not known. */
static bool mount_parse(const char *line, struct cgroup_mount *mount)
{
	char type[64], options[1024];

	if (sscanf(line, "%*s %511s %63s %1023s", mount->path, type, options) != 3)
		return false;
	mount->hierarchy = 0;
	if (strcmp(type, "cgroup2") == 0)
		return true;
	if (strcmp(type, "cgroup") == 0)
		mount->hierarchy = hierarchy_number(options);
	return mount->hierarchy != 0;
}

static int cgroup_deliver(struct capture *c, const struct capture_sink *sink, const char *path,
			  u32 hierarchy, u64 id)
{
	union {
		struct record_cgroup cgroup;
		u8 slots[18 * RECORD_SLOT_BYTES];
	} r;
	size_t len = strlen(path);

	_Static_assert(sizeof(struct record_cgroup) <= sizeof(r), "cgroup");
	memset(&r, 0, sizeof(r));
	if (len > CGROUP_TEXT) {
		len = CGROUP_TEXT;
		c->counts.incomplete++;
	}
	r.cgroup.head.kind = RECORD_cgroup;
	r.cgroup.head.time_ns = host_clock_now_ns();
	r.cgroup.hierarchy = hierarchy;
	r.cgroup.id = id;
	r.cgroup.path_len = len;
	memcpy(r.cgroup.path, path, len);
	len += offsetof(struct record_cgroup, path);
	r.cgroup.head.slots = (len + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
	return sink->record(sink->arg, &life_stream, &r.cgroup.head);
}

static int member_deliver(struct capture *c, const struct capture_sink *sink, u32 pid,
			  u32 hierarchy, u64 id)
{
	union {
		struct record_cgroup_attach attach;
		u8 slots[RECORD_SLOT_BYTES];
	} r;

	_Static_assert(sizeof(struct record_cgroup_attach) <= sizeof(r), "attach");
	memset(&r, 0, sizeof(r));
	r.attach.head.kind = RECORD_cgroup_attach;
	r.attach.head.time_ns = host_clock_now_ns();
	r.attach.head.tid = r.attach.head.pid = pid;
	r.attach.head.slots = 1;
	r.attach.cgroup = id;
	r.attach.hierarchy = hierarchy;
	r.attach.flags = CGROUP_FOUND;
	return sink->record(sink->arg, &life_stream, &r.attach.head);
}

/* Tells the members of a cgroup. In a pid namespace we see other numbers than records have. */
static int members_deliver(struct capture *c, const struct capture_sink *sink,
			   const FTSENT *directory, u32 hierarchy)
{
	char name[4096 + 32];
	FILE *file;
	u32 pid;
	int err = 0;

	if (c->programs->bss->own_level)
		return 0;
	snprintf(name, sizeof(name), "%s/cgroup.procs", directory->fts_path);
	file = fopen(name, "re");
	while (file && !err && fscanf(file, "%" SCNu32, &pid) == 1)
		if (pid)
			err = member_deliver(c, sink, pid, hierarchy, directory->fts_statp->st_ino);
	if (file)
		fclose(file);
	return err;
}

#define CONTAINER_DIGITS 64

static bool names_container(const char *path)
{
	size_t run = 0;

	for (; *path && run < CONTAINER_DIGITS; path++)
		run = strchr("0123456789abcdef", *path) ? run + 1 : 0;
	return run == CONTAINER_DIGITS;
}

static int hierarchy_walk(struct capture *c, const struct capture_sink *sink,
			  struct cgroup_mount *mount)
{
	char *roots[] = {mount->path, NULL};
	size_t prefix = strlen(mount->path);
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *entry;
	int err = 0;

	while (walk && !err && (entry = fts_read(walk))) {
		const char *path = entry->fts_path + prefix;

		if (entry->fts_info != FTS_D || (mount->hierarchy && !names_container(path)))
			continue;
		err = cgroup_deliver(c, sink, *path ? path : "/", mount->hierarchy,
				     entry->fts_statp->st_ino);
		if (!err && mount->hierarchy)
			err = members_deliver(c, sink, entry, mount->hierarchy);
	}
	if (walk)
		fts_close(walk);
	return err;
}

int capture_snapshot_cgroups(struct capture *c, const struct capture_sink *sink)
{
	FILE *file = fopen("/proc/self/mounts", "re");
	u64 walked = 0; /* hierarchies, as bits: one can be mounted twice */
	char line[4096];
	int err = 0;

	while (file && !err && fgets(line, sizeof(line), file)) {
		struct cgroup_mount mount;
		u64 bit;

		if (!mount_parse(line, &mount))
			continue;
		bit = 1ull << mount.hierarchy % 64;
		if (!(walked & bit))
			err = hierarchy_walk(c, sink, &mount);
		walked |= bit;
	}
	if (file)
		fclose(file);
	return err;
}
