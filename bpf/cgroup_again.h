/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Cgroups of the scope that are removed and made again, as that of a service that starts anew.
 *
 * To the user it is the same by its path, to the kernel it is another one. The user's path is one
 * of a mount, perhaps in a cgroup namespace; the path from the root of the hierarchy is what the
 * kernel tells when the cgroup is removed: it is kept then. One that is made there later is in
 * scope before any thread can enter it.
 */
#ifndef BPF_CGROUP_AGAIN_H
#define BPF_CGROUP_AGAIN_H

#include "bpf/cgroup.h"
#include "bpf/ring.h"

/* Kernels before 5.19 take keys of 512 bytes. */
struct cgroup_path {
	u64 hierarchy_id;
	char path[496];
};

/* Cgroups that were removed. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct cgroup_path);
	__type(value, struct cgroup_gone);
} scope_paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cgroup_path);
} cgroup_path_scratches SEC(".maps");

/* NULL if the path is too long for a key. */
static __always_inline struct cgroup_path *cgroup_path_of(struct cgroup *cgroup, const char *path)
{
	struct cgroup_path *key;
	u32 zero = 0;
	long n;

	key = bpf_map_lookup_elem(&cgroup_path_scratches, &zero);
	if (!key)
		return NULL;
	__builtin_memset(key, 0, sizeof(*key));
	key->hierarchy_id = BPF_CORE_READ(cgroup, root, hierarchy_id);
	n = bpf_probe_read_kernel_str(key->path, sizeof(key->path), path);
	return n > 1 && n < (long)sizeof(key->path) ? key : NULL;
}

/* A cgroup is gone that the user named: what is made at its path will be named, too. */
static __always_inline void cgroup_keep_path(struct cgroup *gone, const char *path)
{
	u32 hierarchies = scope_hierarchies | detail_hierarchies;
	u32 id = BPF_CORE_READ(gone, root, hierarchy_id);
	struct cgroup_key key = {.id = BPF_CORE_READ(gone, kn, id)};
	struct cgroup_gone value = {};
	struct cgroup_path *kept;
	u32 *named;

	hierarchies &= id ? BPF_CORE_READ(gone, root, subsys_mask) & ((1u << CGROUP_V2) - 1)
			  : 1u << CGROUP_V2;
	for (u32 h = 0; h <= CGROUP_V2; h++) {
		key.hierarchy = h;
		if (!(hierarchies & (1u << h)))
			continue;
		named = bpf_map_lookup_elem(&scope_cgroups, &key);
		if (!named)
			continue;
		value.hierarchy = h;
		value.named = *named;
		bpf_map_delete_elem(&scope_cgroups, &key);
		kept = cgroup_path_of(gone, path);
		if (!kept || bpf_map_update_elem(&scope_paths, kept, &value, BPF_ANY))
			ring_count_incomplete();
		return;
	}
}

static __always_inline void cgroup_take_again(struct cgroup *made, const char *path)
{
	struct cgroup_path *kept = cgroup_path_of(made, path);
	struct cgroup_gone *gone = kept ? bpf_map_lookup_elem(&scope_paths, kept) : NULL;
	struct cgroup_key key = {};
	u32 named;

	if (!gone || !gone->named)
		return;
	key.id = BPF_CORE_READ(made, kn, id);
	key.hierarchy = gone->hierarchy;
	named = gone->named;
	if (bpf_map_update_elem(&scope_cgroups, &key, &named, BPF_ANY))
		ring_count_incomplete();
}

#endif
