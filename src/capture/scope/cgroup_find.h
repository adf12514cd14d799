/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cgroups that a path of the user names, by the keys of the kernel programs. */
#ifndef CAPTURE_SCOPE_CGROUP_FIND_H
#define CAPTURE_SCOPE_CGROUP_FIND_H

#include <stddef.h>

#include "base/error.h"
#include "record/record.h"

#include "bpf/cgroup_key.h"

#define CGROUP_PLACES 16 /* each hierarchy can have a cgroup of the same path */

struct cgroup_place {
	struct cgroup_key key;
	char mount[256]; /* of its hierarchy; empty: the path is that of its directory */
};

struct cgroup_places {
	struct cgroup_place list[CGROUP_PLACES];
	size_t count;
};

/*
 * Finds the cgroups of a path, each once. `path` is that of a directory, or relative to the mount
 * of its hierarchy, as /proc/PID/cgroup shows it; then each hierarchy can have such a cgroup. 0;
 * -ENOENT if there is none now; -ENOTSUP if its hierarchy has no controller. Several threads may
 * call this at once.
 */
int cgroup_find(const char *path, struct cgroup_places *found, struct error *e);

#endif
