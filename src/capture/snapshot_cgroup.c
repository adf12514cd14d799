// SPDX-License-Identifier: Apache-2.0
/*
 * The snapshot's cgroups: each directory of the default hierarchy, with the
 * kernfs id (its inode number) by which process and fork records name it.
 */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/internal.h"

#define CGROUP_TEXT 1024

/* Where the default hierarchy is mounted; false if it is not. */
static bool cgroup_mount(char *path, size_t room)
{
	FILE *file = fopen("/proc/self/mounts", "re");
	char line[4096], type[64];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		char *at = strchr(line, ' ');
		char *end = at ? strchr(at + 1, ' ') : NULL;

		if (!end || sscanf(end, " %63s", type) != 1 || strcmp(type, "cgroup2") != 0)
			continue;
		*end = '\0';
		found = strlen(at + 1) < room;
		if (found)
			strcpy(path, at + 1);
	}
	fclose(file);
	return found;
}

static int cgroup_deliver(struct capture *c, const struct capture_sink *sink, const char *path,
			  u64 id)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	union {
		struct record_cgroup cgroup;
		u8 slots[18 * RECORD_SLOT_BYTES];
	} r;
	size_t len = strlen(path);

	_Static_assert(sizeof(struct record_cgroup) <= sizeof(r), "cgroup");
	memset(&r, 0, sizeof(r));
	if (len > CGROUP_TEXT)
		len = CGROUP_TEXT;
	r.cgroup.head.kind = RECORD_cgroup;
	r.cgroup.head.time_ns = capture_now();
	r.cgroup.id = id;
	r.cgroup.path_len = len;
	memcpy(r.cgroup.path, path, len);
	len += offsetof(struct record_cgroup, path);
	r.cgroup.head.slots = (len + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
	return capture_deliver(c, sink, &stream, &r.cgroup.head);
}

int capture_snapshot_cgroups(struct capture *c, const struct capture_sink *sink)
{
	char root[512], *roots[] = {root, NULL};
	size_t prefix;
	FTSENT *entry;
	FTS *walk;
	int err = 0;

	if (!cgroup_mount(root, sizeof(root)))
		return 0;
	prefix = strlen(root);
	walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	while (walk && !err && (entry = fts_read(walk))) {
		const char *path = entry->fts_path + prefix;

		if (entry->fts_info == FTS_D)
			err = cgroup_deliver(c, sink, *path ? path : "/", entry->fts_statp->st_ino);
	}
	if (walk)
		fts_close(walk);
	return err;
}
