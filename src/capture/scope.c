// SPDX-License-Identifier: Apache-2.0
/*
 * The scope of a recording, told to the kernel programs (bpf/state.h).
 */
#include <errno.h>
#include <fcntl.h>
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
#include "capture/internal.h"
#include "programs.skel.h"

#define CGROUP2_MAGIC 0x63677270
#define CGROUP1_MAGIC 0x27e0eb
#define HIERARCHY_V2 12

struct cgroup_place {
	u64 id; /* kernfs id: the inode number */
	u64 hierarchy;
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

static int cgroup_find(const char *path, struct cgroup_place *place, struct error *e)
{
	struct statfs fs;
	struct stat st;
	int number = HIERARCHY_V2;

	if (stat(path, &st) || statfs(path, &fs))
		return error_set(e, errno, "cannot find the cgroup %s", path);
	if (fs.f_type == CGROUP1_MAGIC)
		number = controller_of_device(st.st_dev);
	else if (fs.f_type != CGROUP2_MAGIC)
		return error_say(e, EINVAL, "%s is no directory of a cgroup hierarchy", path);
	if (number < 0)
		return error_say(e, ENOTSUP, "the hierarchy of %s has no controller", path);
	*place = (struct cgroup_place){st.st_ino, number};
	return 0;
}

int capture_scope_set(struct capture *c, const struct capture_options *options, struct error *e)
{
	u32 hierarchies = 0;

	for (size_t i = 0; i < options->cgroup_count; i++) {
		struct cgroup_place place;
		int err = cgroup_find(options->cgroups[i], &place, e);

		if (err)
			return err;
		hierarchies |= 1u << place.hierarchy;
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
			return error_say(e, ESRCH, "there is no process %u", pid);
		if (bpf_map_update_elem(pids, &pid, &one, BPF_ANY))
			return error_set(e, errno, "cannot record process %u", pid);
	}
	for (size_t i = 0; i < options->cgroup_count; i++) {
		struct cgroup_place place;
		int err = cgroup_find(options->cgroups[i], &place, e);

		if (err)
			return err;
		if (bpf_map_update_elem(cgroups, &place, &one, BPF_ANY))
			return error_set(e, errno, "cannot record cgroup %s", options->cgroups[i]);
	}
	return 0;
}

int capture_context_set(struct capture *c, pid_t pid, const struct context_location *location)
{
	int locations = bpf_map__fd(c->programs->maps.locations);
	u32 key = pid;

	if (!location || !location->known)
		bpf_map_delete_elem(locations, &key);
	else if (bpf_map_update_elem(locations, &key, location, BPF_ANY))
		return -errno;
	/* what threads have copied is void from here on */
	__atomic_fetch_add(&c->programs->bss->context_generation, 1, __ATOMIC_RELEASE);
	return 0;
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
