// SPDX-License-Identifier: Apache-2.0
/*
 * The scope of a recording, told to the kernel programs (bpf/state.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/thread_state.h"
#include "capture/context_program.h"
#include "capture/internal.h"
#include "programs.skel.h"

#define CGROUP2_MAGIC 0x63677270
#define CGROUP1_MAGIC 0x27e0eb
#define HIERARCHY_V2 12

#define CGROUP_PLACES 16 /* a path below its mount can be there in each hierarchy */

struct cgroup_place {
	u64 id; /* kernfs id: the inode number */
	u64 hierarchy;
};

struct cgroup_places {
	struct cgroup_place list[CGROUP_PLACES];
	size_t count;
};

/* Number of a controller in this kernel's enum, -1 if it has none of that name. */
static int controller_number(const char *name, size_t len)
{
	struct btf *btf = btf__load_vmlinux_btf();
	s32 id = btf ? btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	int number = -1;

	for (u32 i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_enum *value = &btf_enum(type)[i];
		const char *text = btf__name_by_offset(btf, value->name_off);

		if (text && strncmp(text, name, len) == 0 && strcmp(text + len, "_cgrp_id") == 0)
			number = value->val;
	}
	btf__free(btf);
	return number;
}

/* Of the v1 mount with this device number: the number of its first controller. */
static int controller_of_options(const char *options)
{
	for (const char *at = options; *at;) {
		size_t len = strcspn(at, ",\n ");
		/* the mount option of io is still blkio */
		int number = len == 5 && strncmp(at, "blkio", 5) == 0 ? controller_number("io", 2)
								      : controller_number(at, len);

		if (number >= 0 && number < HIERARCHY_V2)
			return number;
		at += len;
		at += strspn(at, ",\n ");
	}
	return -1;
}

static int controller_of_device(dev_t dev)
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
			number = controller_of_options(super + 1);
	}
	fclose(file);
	return number;
}

/* 1: `path` is a cgroup, added to the list; 0: it is none; or a negative errno. */
static int cgroup_look(const char *path, struct cgroup_places *found)
{
	struct statfs fs;
	struct stat st;
	int number = HIERARCHY_V2;

	if (stat(path, &st) || statfs(path, &fs) || !S_ISDIR(st.st_mode))
		return 0;
	if (fs.f_type == CGROUP1_MAGIC)
		number = controller_of_device(st.st_dev);
	else if (fs.f_type != CGROUP2_MAGIC)
		return 0;
	if (number < 0)
		return -ENOTSUP;
	if (found->count < CGROUP_PLACES)
		found->list[found->count++] = (struct cgroup_place){st.st_ino, number};
	return 1;
}

/* The cgroup of that path in every hierarchy that has one. */
static int cgroup_look_below_mounts(const char *path, struct cgroup_places *found)
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
		is = cgroup_look(full, found);
		err = is < 0 ? is : err;
	}
	if (file)
		endmntent(file);
	return found->count ? 0 : err;
}

/* An absolute path of a directory, or a path as /proc/PID/cgroup shows it. */
static int cgroup_find(const char *path, struct cgroup_places *found, struct error *e)
{
	int err = path[0] == '/' ? cgroup_look(path, found) : 0;

	if (err > 0)
		return 0;
	if (!err)
		err = cgroup_look_below_mounts(path, found);
	if (err == -ENOTSUP)
		return error_say(e, ENOTSUP,
				 "the cgroup %s is in a hierarchy without a controller, which "
				 "cannot be followed: name its cgroup in another one",
				 path);
	if (!found->count)
		return error_say(e, ENOENT,
				 "there is no cgroup %s; name a directory below /sys/fs/cgroup, or "
				 "a path as /proc/PID/cgroup shows it",
				 path);
	return 0;
}

int capture_scope_set(struct capture *c, const struct capture_options *options, struct error *e)
{
	u32 hierarchies = 0;

	for (size_t i = 0; i < options->cgroup_count; i++) {
		struct cgroup_places found = {.count = 0};
		int err = cgroup_find(options->cgroups[i], &found, e);

		if (err)
			return err;
		for (size_t k = 0; k < found.count; k++)
			hierarchies |= 1u << found.list[k].hierarchy;
	}
	c->programs->rodata->scope_hierarchies = hierarchies;
	return 0;
}

int capture_scope_add(struct capture *c, const struct capture_options *options, struct error *e)
{
	int pids = bpf_map__fd(c->programs->maps.scope_pids);
	int cgroups = bpf_map__fd(c->programs->maps.scope_cgroups);
	u8 one = 1;

	for (size_t i = 0; i < options->pid_count; i++) {
		u32 pid = options->pids[i];

		if (syscall(SYS_tgkill, pid, pid, 0) && errno == ESRCH)
			return error_say(e, ESRCH,
					 "there is no process %u; 'ps -e' lists those that there "
					 "are (a thread is recorded with its process)",
					 pid);
		if (bpf_map_update_elem(pids, &pid, &one, BPF_ANY))
			return error_set(e, errno, "cannot record process %u", pid);
	}
	for (size_t i = 0; i < options->cgroup_count; i++) {
		struct cgroup_places found = {.count = 0};
		int err = cgroup_find(options->cgroups[i], &found, e);

		for (size_t k = 0; k < found.count && !err; k++) {
			if (bpf_map_update_elem(cgroups, &found.list[k], &one, BPF_ANY))
				err = error_set(e, errno, "cannot record cgroup %s",
						options->cgroups[i]);
		}
		if (err)
			return err;
	}
	return 0;
}

void capture_scope_settled(struct capture *c)
{
	int pids = bpf_map__fd(c->programs->maps.scope_pids);
	u32 pid;

	/* every thread of theirs is marked by now, and the numbers will be those of others */
	while (bpf_map_get_next_key(pids, NULL, &pid) == 0)
		if (bpf_map_delete_elem(pids, &pid))
			break;
}

int capture_context_set(struct capture *c, pid_t pid, const struct context_location *location)
{
	int locations = bpf_map__fd(c->programs->maps.locations);
	struct context_location there;
	u32 key = pid;

	if (!location || !location->known)
		bpf_map_delete_elem(locations, &key);
	else if ((location->flags & CONTEXT_ASSUMED) &&
		 !bpf_map_lookup_elem(locations, &key, &there) &&
		 !memcmp(&there, location, sizeof(there)))
		return 0; /* the programs took it by themselves */
	else if (bpf_map_update_elem(locations, &key, location, BPF_ANY))
		return -errno;
	/* what threads have copied is void from here on */
	__atomic_fetch_add(&c->programs->bss->context_generation, 1, __ATOMIC_RELEASE);
	return 0;
}

bool capture_context_executed(struct capture *c, pid_t pid, struct context_executed *executed)
{
	u32 key = pid;

	return !bpf_map_lookup_elem(bpf_map__fd(c->programs->maps.executed), &key, executed);
}

void capture_context_learn(struct capture *c, const struct context_program *program,
			   const struct context_location *found)
{
	int programs = bpf_map__fd(c->programs->maps.program_locations);
	struct context_location kept, learned;
	bool known = !bpf_map_lookup_elem(programs, program, &kept);

	learned = context_program_learn(known ? &kept : NULL, found);
	if (!known || memcmp(&learned, &kept, sizeof(kept)))
		(void)bpf_map_update_elem(programs, program, &learned, BPF_ANY);
}

int capture_scope_seed(struct capture *c, pid_t child, struct error *e)
{
	struct thread_state state = {.flags = STATE_DECIDED | STATE_PENDING};
	int fd = syscall(SYS_pidfd_open, child, 0);
	int err = 0;

	if (fd < 0)
		return error_set(e, errno, "cannot follow the command");
	if (bpf_map_update_elem(bpf_map__fd(c->programs->maps.states), &fd, &state, BPF_ANY))
		err = error_set(e, errno, "cannot follow the command");
	close(fd);
	return err;
}
