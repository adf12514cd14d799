/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Cgroups of a thread, and the processes and cgroups that the user named.
 */
#ifndef BPF_CGROUP_H
#define BPF_CGROUP_H

#include "bpf/cgroup_key.h"
#include "bpf/kernel_versions.h"
#include "bpf/state.h"

#define CGROUP_DEPTH 24

/* Processes named with -p, by own_number(): the snapshot puts their threads in scope. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u8);
} scope_pids SEC(".maps") __weak;

/* Directories named with --cgroup, or as scopes of detail: CGROUP_RECORDED and its like. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct cgroup_key);
	__type(value, u32);
} scope_cgroups SEC(".maps") __weak;

/* Set by capture before loading: bit h is set if a cgroup of hierarchy h was named. */
const volatile u32 scope_hierarchies __weak = 0;

/* Likewise of scopes of detail, which change while the programs run. */
u32 detail_hierarchies __weak = 0;

/* By hierarchy: the cgroup that was told last to be too deep, with all of it that forks. */
u64 cgroup_too_deep[CGROUP_V2 + 1] __weak = {};

/* kernfs id of its cgroup in the default hierarchy. */
static __always_inline u64 cgroup_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* Is the node, or one above it, a directory that the user named? */
static __always_inline bool cgroup_named(struct kernfs_node *kn, u32 hierarchy)
{
	struct cgroup_key key = {.hierarchy = hierarchy};
	u64 leaf = BPF_CORE_READ(kn, id);
	u32 *named;

	for (int depth = 0; depth < CGROUP_DEPTH && kn; depth++) {
		key.id = BPF_CORE_READ(kn, id);
		named = bpf_map_lookup_elem(&scope_cgroups, &key);
		if (named && *named & CGROUP_RECORDED)
			return true;
		kn = kernfs_parent(kn);
	}
	if (kn && cgroup_too_deep[hierarchy] != leaf) { /* it may be in scope further up */
		cgroup_too_deep[hierarchy] = leaf;
		ring_count_incomplete();
	}
	return false;
}

static __always_inline bool cgroup_in_scope(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css;

	if ((scope_hierarchies & (1u << CGROUP_V2)) &&
	    cgroup_named(BPF_CORE_READ(set, dfl_cgrp, kn), CGROUP_V2))
		return true;
	for (u32 h = 0; h < CGROUP_V2; h++) {
		if (!(scope_hierarchies & (1u << h)))
			continue;
		css = NULL;
		bpf_core_read(&css, sizeof(css), &set->subsys[h]);
		if (css && cgroup_named(BPF_CORE_READ(css, cgroup, kn), h))
			return true;
	}
	return false;
}

static __always_inline bool scope_names(struct task_struct *task)
{
	u32 tgid = own_number(task->group_leader);

	return bpf_map_lookup_elem(&scope_pids, &tgid) != NULL;
}

/*
 * STATE_* of a thread whose process, or a cgroup that it is in, was named by
 * the user; 0 if neither was. Never capture's own threads.
 */
static __always_inline u32 scope_of(struct task_struct *task)
{
	if ((u32)task->tgid == own_tgid)
		return 0;
	if (scope_names(task))
		return STATE_IN;
	return scope_hierarchies && cgroup_in_scope(task) ? STATE_IN | STATE_BY_CGROUP : 0;
}

/* The record of a move; `r` is zero. */
static __always_inline void cgroup_attach_fill(struct record_cgroup_attach *r,
					       struct task_struct *task, struct cgroup *to)
{
	r->head.kind = RECORD_cgroup_attach;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->cgroup = BPF_CORE_READ(to, kn, id);
	r->hierarchy = BPF_CORE_READ(to, root, hierarchy_id);
}

#endif
