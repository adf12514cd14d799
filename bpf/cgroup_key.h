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

#endif
