/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The key of a cgroup that the user named. Capture writes it, the kernel programs look it up. */
#ifndef BPF_CGROUP_KEY_H
#define BPF_CGROUP_KEY_H

#include "record/record.h"

#define CGROUP_V2 12 /* the number of that hierarchy: the first one behind the controllers */

struct cgroup_key {
	u64 id;	       /* kernfs id: the inode number */
	u64 hierarchy; /* in version 1 the number of its first controller, else CGROUP_V2 */
};

/* What the cgroup was named for: with --cgroup, and as scopes of detail, a bit for each place. */
#define CGROUP_RECORDED (1u << 31)

/* A cgroup that is gone; what is made at its path later is named like it. */
struct cgroup_gone {
	u32 hierarchy; /* as in its key */
	u32 named;
};

#endif
