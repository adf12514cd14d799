/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * By what the kernel programs know a cgroup that the user named; capture writes it.
 */
#ifndef BPF_CGROUP_KEY_H
#define BPF_CGROUP_KEY_H

#include "record/record.h"

#define CGROUP_V2 12 /* the number of that hierarchy: one behind those of controllers */

struct cgroup_key {
	u64 id;	       /* kernfs id: the inode number */
	u64 hierarchy; /* its first controller of version 1, or CGROUP_V2 */
};

#endif
