// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Walks from a file up to the root of its process: see path.h. */
#include "bpf/path.h"
#include "bpf/license.h"

#define PATH_DEPTH 48 /* directories and mounts on the way; a longer path is cut and counted */
#define PATH_SHORT 32

const volatile u32 path_own_mounts = 0;

/* Copies eight bytes of a name at a time, and keeps the bytes behind the name. */
static __always_inline void path_copy_short(char *to, const unsigned char *name, u32 len)
{
	u64 word = kernel_read_word((const void *)name), mask;

	if (len < 8) {
		mask = (1ull << (8 * len & 63)) - 1;
		*(u64 *)to = (word & mask) | (*(u64 *)to & ~mask);
		return;
	}
	*(u64 *)to = word;
	if (len > 16)
		*(u64 *)(to + 8) = kernel_read_word((const void *)name + 8);
	if (len > 24)
		*(u64 *)(to + 16) = kernel_read_word((const void *)name + 16);
	*(u64 *)(to + len - 8) = kernel_read_word((const void *)name + len - 8);
}

/* Writes "/name" before the path so far. 0, or -1: no room. */
static __always_inline int path_prepend(struct path_scratch *s, const unsigned char *name, u32 len)
{
	u64 at = PATH_BUFFER - s->length, n = len;

	BOUND(n, 255);
	if (s->length + n + 1 > PATH_BUFFER - 1)
		return -1;
	at -= n;
	BOUND(at, 4095);
	if (kernel_loads_are_plain() && n <= PATH_SHORT)
		path_copy_short(s->buffer + at, name, n);
	else
		bpf_probe_read_kernel(s->buffer + at, n, name);
	at -= 1;
	BOUND(at, 4095);
	s->buffer[at] = '/';
	s->length += n + 1;
	return 0;
}

/* Goes one step up. 1: at the root; 0: go on; -1: the path is cut. */
static __always_inline int path_step(struct path_scratch *s)
{
	struct dentry *dentry = s->walk.dentry, *parent;
	struct mount *mount = s->walk.mount, *above;
	struct vfsmount *vfs = (void *)mount + bpf_core_field_offset(struct mount, mnt);

	if (dentry == s->walk.root_dentry && vfs == s->walk.root_mount)
		return 1;
	if (dentry == KERNEL_READ(vfs, mnt_root)) {
		above = KERNEL_READ(mount, mnt_parent);
		if (!above || above == mount)
			return 1;
		s->walk.dentry = KERNEL_READ(mount, mnt_mountpoint);
		s->walk.mount = above;
		return 0;
	}
	parent = KERNEL_READ(dentry, d_parent);
	if (!parent || parent == dentry)
		return 1;
	if (path_prepend(s, KERNEL_READ(dentry, d_name.name), KERNEL_READ(dentry, d_name.len)))
		return -1;
	s->walk.dentry = parent;
	return 0;
}

static long path_next(u32 turn, struct path_scratch **s)
{
	(*s)->walk.done = path_step(*s);
	return (*s)->walk.done != 0;
}

__noinline int path_climb(struct path_scratch *s)
{
	if (!s)
		return 0;
	s->walk.done = 0;
	bpf_loop(PATH_DEPTH + 1, path_next, &s, 0); /* the last step finds the root */
	if (s->length == 0)
		path_prepend(s, NULL, 0);
	return s->walk.done == 1;
}
