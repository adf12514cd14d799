// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <bpf/btf.h>

#include "capture/scope/cgroup_find.h"

#define CGROUP2_MAGIC 0x63677270
#define CGROUP1_MAGIC 0x27e0eb

struct cgroup_search {
	struct cgroup_places found;
	struct btf *btf; /* types of the kernel, once they are needed */
};

/* The number of a controller in this kernel's enum, -1 if it has none of that name. */
static int controller_number(struct cgroup_search *search, const char *name, size_t len)
{
	const struct btf_type *type;
	int number = -1;
	s32 id;

	if (!search->btf)
		search->btf = btf__load_vmlinux_btf();
	id = search->btf ? btf__find_by_name_kind(search->btf, "cgroup_subsys_id", BTF_KIND_ENUM)
			 : -1;
	type = id > 0 ? btf__type_by_id(search->btf, id) : NULL;
	for (u32 i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_enum *value = &btf_enum(type)[i];
		const char *text = btf__name_by_offset(search->btf, value->name_off);

		if (text && strncmp(text, name, len) == 0 && strcmp(text + len, "_cgrp_id") == 0)
			number = value->val;
	}
	return number;
}

/* The number of the first controller in the options of a mount of version 1. */
static int controller_of_options(struct cgroup_search *search, const char *options)
{
	for (const char *at = options; *at;) {
		size_t len = strcspn(at, ",\n ");
		/* the mount option of io is still blkio */
		int number = len == 5 && strncmp(at, "blkio", 5) == 0
				     ? controller_number(search, "io", 2)
				     : controller_number(search, at, len);

		if (number >= 0 && number < CGROUP_V2)
			return number;
		at += len;
		at += strspn(at, ",\n ");
	}
	return -1;
}

static int controller_of_device(struct cgroup_search *search, dev_t dev)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096], wanted[32];
	int number = -1;

	if (!file)
		return -1;
	snprintf(wanted, sizeof(wanted), " %u:%u ", major(dev), minor(dev));
	while (number < 0 && fgets(line, sizeof(line), file)) {
		char *type = strstr(line, " - cgroup ");
		char *super = type ? strrchr(line, ' ') : NULL;

		if (super && strstr(line, wanted))
			number = controller_of_options(search, super + 1);
	}
	fclose(file);
	return number;
}

static bool cgroup_known(const struct cgroup_places *found, const struct cgroup_key *key)
{
	for (size_t i = 0; i < found->count; i++)
		if (memcmp(&found->list[i].key, key, sizeof(*key)) == 0)
			return true;
	return false;
}

/* Adds the cgroup `path` to the list. 1; 0 if the path is no cgroup; or a negative errno. */
static int cgroup_look(struct cgroup_search *search, const char *path, const char *mount)
{
	struct cgroup_places *found = &search->found;
	struct cgroup_key key = {.hierarchy = CGROUP_V2};
	struct cgroup_place *place;
	struct statfs fs;
	struct stat st;
	int number;

	if (stat(path, &st) || statfs(path, &fs) || !S_ISDIR(st.st_mode))
		return 0;
	if (fs.f_type == CGROUP1_MAGIC) {
		number = controller_of_device(search, st.st_dev);
		if (number < 0)
			return -ENOTSUP;
		key.hierarchy = number;
	} else if (fs.f_type != CGROUP2_MAGIC) {
		return 0;
	}
	key.id = st.st_ino;
	/* a cgroup is found twice if its hierarchy is mounted twice */
	if (found->count == CGROUP_PLACES || cgroup_known(found, &key))
		return 1;
	place = &found->list[found->count++];
	*place = (struct cgroup_place){.key = key};
	snprintf(place->mount, sizeof(place->mount), "%s", mount);
	return 1;
}

/* Adds the cgroup of that path in every hierarchy that has one. */
static int cgroup_look_below_mounts(struct cgroup_search *search, const char *path)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	char full[4096];
	int err = 0;

	while (file && (mount = getmntent(file))) {
		int is;

		if (strcmp(mount->mnt_type, "cgroup") != 0 &&
		    strcmp(mount->mnt_type, "cgroup2") != 0)
			continue;
		snprintf(full, sizeof(full), "%s/%s", mount->mnt_dir, path);
		is = cgroup_look(search, full, mount->mnt_dir);
		err = is < 0 ? is : err;
	}
	if (file)
		endmntent(file);
	return search->found.count ? 0 : err;
}

int cgroup_find(const char *path, struct cgroup_places *found, struct error *e)
{
	struct cgroup_search search = {.btf = NULL};
	int err = path[0] == '/' ? cgroup_look(&search, path, "") : 0;

	if (!err)
		err = cgroup_look_below_mounts(&search, path);
	btf__free(search.btf);
	if (err == -ENOTSUP)
		return error_say(e, ENOTSUP,
				 "the cgroup %s is in a hierarchy without a controller, which "
				 "cannot be followed: name a cgroup in another hierarchy",
				 path);
	if (!search.found.count)
		return error_say(e, ENOENT,
				 "there is no cgroup %s; it must exist when the recording "
				 "begins; name a directory below /sys/fs/cgroup, or a path as "
				 "/proc/PID/cgroup shows it",
				 path);
	*found = search.found;
	return 0;
}
