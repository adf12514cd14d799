// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Scopes of detail: cgroups and spans. */
#include "bpf/detail.h"
#include "bpf/context.h"
#include "bpf/license.h"

/* The scopes that name a cgroup or one above it. A global function, as the next one, for the
 * verifier.
 */
__noinline int detail_cgroup(u64 node_at, u32 hierarchy)
{
	struct kernfs_node *kn = (void *)node_at;
	struct cgroup_key key = {.hierarchy = hierarchy};
	u32 *named, in = 0;

	for (int depth = 0; depth < CGROUP_DEPTH && kn; depth++) {
		key.id = BPF_CORE_READ(kn, id);
		named = bpf_map_lookup_elem(&scope_cgroups, &key);
		if (named)
			in |= *named;
		kn = kernfs_parent(kn);
	}
	if (kn) /* it may be below such a cgroup */
		ring_count_incomplete();
	return in & DETAIL_SCOPE_ALL;
}

__noinline int detail_cgroups(u64 task_at)
{
	struct task_struct *task = (void *)task_at;
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css;
	u32 hierarchies = detail_hierarchies, in = 0;

	if (hierarchies & (1u << CGROUP_V2))
		in = detail_cgroup((u64)BPF_CORE_READ(set, dfl_cgrp, kn), CGROUP_V2);
	for (u32 h = 0; h < CGROUP_V2; h++) {
		if (!(hierarchies & (1u << h)))
			continue;
		css = NULL;
		bpf_core_read(&css, sizeof(css), &set->subsys[h]);
		if (css)
			in |= detail_cgroup((u64)BPF_CORE_READ(css, cgroup, kn), h);
	}
	return in;
}

__noinline int calls_look_at_span(struct thread_state *state)
{
	if (!state)
		return 0;
	context_read(state, bpf_get_current_task_btf());
	return calls_are_wanted(state);
}
