/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the cgroups that a user's path names, as the kernel programs know them (bpf/cgroup.h).
 */
#ifndef CAPTURE_SCOPE_CGROUP_FIND_H
#define CAPTURE_SCOPE_CGROUP_FIND_H

#include <stddef.h>

#include "base/error.h"
#include "record/record.h"

#include "bpf/cgroup_key.h"

#define CGROUP_PLACES 16 /* a path below its mount can be there in each hierarchy */

struct cgroup_place {
	struct cgroup_key key;
	char mount[256]; /* of its hierarchy; empty: the path itself is its directory */
};

struct cgroup_places {
	struct cgroup_place list[CGROUP_PLACES];
	size_t count;
};

/*
 * `path` is that of a directory, or as /proc/PID/cgroup shows it: below its mount, and then there
 * can be one in each hierarchy. Fills `found`, each cgroup once. Errors: -ENOENT, there is none
 * now; -ENOTSUP, it is in a hierarchy without a controller. Threads may call it at once.
 */
int cgroup_find(const char *path, struct cgroup_places *found, struct error *e);

#endif
