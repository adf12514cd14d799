// SPDX-License-Identifier: Apache-2.0
/* Tells the kernel programs which threads are in scope (bpf/state.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "capture/scope/cgroup_find.h"
#include "capture/scope/scope.h"
#include "capture/state.h"
#include "programs.skel.h"

#define SCOPE_TURNS 8 /* tries, if a cgroup is removed and made again all the time */
#define SEED_TRIES 8
#define DESCENDANTS_MAX 65536
#define GENERATIONS_MAX 4096 /* of descendants; bounds the look at a host where all forks */

int capture_scope_set(struct capture *c, const struct capture_options *options, struct error *e)
{
	u32 hierarchies = 0;

	for (size_t i = 0; i < options->cgroup_count; i++) {
		struct cgroup_places found;
		int err = cgroup_find(options->cgroups[i], &found, e);

		if (err)
			return err;
		for (size_t k = 0; k < found.count; k++) {
			hierarchies |= 1u << found.list[k].key.hierarchy;
			if (vec_push(&c->named, found.list[k].key))
				return error_set(e, ENOMEM, "cannot record cgroups");
		}
	}
	c->cgroups = options->cgroups;
	c->cgroup_count = options->cgroup_count;
	c->programs->rodata->scope_hierarchies = hierarchies;
	c->with_children = options->pid_count && !options->pids_alone;
	bpf_program__set_autoload(c->programs->progs.scope_children, c->with_children);
	if (c->with_children)
		bpf_map__set_max_entries(c->programs->maps.scope_pids, DESCENDANTS_MAX);
	return 0;
}

int capture_scope_add(struct capture *c, const struct capture_options *options, struct error *e)
{
	int pids = bpf_map__fd(c->programs->maps.scope_pids);
	int cgroups = bpf_map__fd(c->programs->maps.scope_cgroups);
	u32 named = CGROUP_RECORDED;
	u8 one = 1;

	for (size_t i = 0; i < options->pid_count; i++) {
		u32 pid = options->pids[i];

		if (syscall(SYS_tgkill, pid, pid, 0) && errno == ESRCH)
			return error_say(e, ESRCH,
					 "there is no process %u; 'ps -e' lists the processes "
					 "(a thread is recorded with its process)",
					 pid);
		if (bpf_map_update_elem(pids, &pid, &one, BPF_ANY))
			return error_set(e, errno, "cannot record process %u", pid);
	}
	for (size_t i = 0; i < c->named.count; i++)
		if (bpf_map_update_elem(cgroups, &c->named.data[i], &named, BPF_ANY))
			return error_set(e, errno, "cannot record this many cgroups");
	return 0;
}

int capture_scope_add_children(struct capture *c, struct error *e)
{
	struct programs__bss *bss = c->programs->bss;
	int err = 0;

	for (int turn = 0; c->with_children && turn < GENERATIONS_MAX && !err; turn++) {
		bss->scope_grown = 0;
		err = capture_scope_iterate(c, c->programs->progs.scope_children);
		if (!err && bss->scope_overflow)
			return error_say(e, E2BIG,
					 "the processes have more than %d children; use --cgroup "
					 "or --no-children",
					 DESCENDANTS_MAX);
		if (!bss->scope_grown)
			break;
	}
	return err ? error_set(e, err, "cannot find the children of the processes") : 0;
}

/* Puts the cgroups that the path names now in scope. 1: one of them is new; 0; or negative errno.
 */
static int cgroup_look_again(struct capture *c, const char *path, struct error *e)
{
	int cgroups = bpf_map__fd(c->programs->maps.scope_cgroups);
	struct cgroup_places now;
	int err = cgroup_find(path, &now, e), news = 0;

	for (size_t i = 0; !err && i < now.count; i++) {
		const struct cgroup_key *key = &now.list[i].key;

		u32 named = 0;

		if (!bpf_map_lookup_elem(cgroups, key, &named) && named & CGROUP_RECORDED)
			continue;
		named |= CGROUP_RECORDED;
		if (bpf_map_update_elem(cgroups, key, &named, BPF_ANY))
			err = error_set(e, errno, "cannot record cgroup %s", path);
		news = 1;
	}
	return err ? err : news;
}

int capture_scope_look_again(struct capture *c, struct error *e)
{
	/* a cgroup that exists after it was put in scope is only removed while programs watch */
	for (size_t i = 0; i < c->cgroup_count; i++) {
		int news = 1;

		for (int turn = 0; turn < SCOPE_TURNS && news > 0; turn++)
			news = cgroup_look_again(c, c->cgroups[i], e);
		if (news < 0)
			return news;
	}
	return 0;
}

size_t capture_cgroup_mounts(const char *path, char *text, size_t size)
{
	struct cgroup_places found = {.count = 0};
	size_t at = 0;

	text[0] = '\0';
	if (cgroup_find(path, &found, NULL))
		return 0;
	for (size_t i = 0; i < found.count && at < size; i++)
		at += snprintf(text + at, size - at, "%s%s", i ? ", " : "", found.list[i].mount);
	return found.count;
}

void capture_scope_settled(struct capture *c)
{
	int pids = bpf_map__fd(c->programs->maps.scope_pids);
	u32 pid;

	/* all their threads are marked by now, and their numbers may go to other processes */
	while (bpf_map_get_next_key(pids, NULL, &pid) == 0)
		if (bpf_map_delete_elem(pids, &pid))
			break;
}

int capture_scope_seed(struct capture *c, pid_t child, struct error *e)
{
	u32 *seed = &c->programs->bss->scope_seed;
	int err = 0;

	__atomic_store_n(seed, child, __ATOMIC_RELEASE);
	/* storage that is just being allocated on this CPU can make a try fail */
	for (int try = 0; try < SEED_TRIES && !err && __atomic_load_n(seed, __ATOMIC_ACQUIRE);
	     try++)
		err = capture_scope_iterate(c, c->programs->progs.scope_seeds);
	if (!err && __atomic_load_n(seed, __ATOMIC_ACQUIRE)) {
		if (syscall(SYS_tgkill, child, child, 0) && errno == ESRCH)
			return error_say(e, ESRCH, "the command ended before its recording began");
		err = ENOMEM;
	}
	return err ? error_set(e, err, "cannot follow the command") : 0;
}
