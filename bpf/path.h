/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Writes the name of an open file into an fd record, as readlink of /proc/PID/fd/N shows it in the
 * process's own mount namespace. Programs for tracepoints may not call the helper for this
 * (bpf_d_path). So dentries and mounts are walked from the file to the root (path.bpf.c), and the
 * path is written backwards into the buffer.
 */
#ifndef BPF_PATH_H
#define BPF_PATH_H

#include "bpf/file.h"
#include "bpf/ring.h"

#define PATH_BUFFER 4096

/* The state of a walk to the root. */
struct path_walk {
	struct dentry *dentry;
	struct mount *mount;
	struct dentry *root_dentry;
	struct vfsmount *root_mount;
	long done; /* 1: at the root; -1: the path is cut */
};

struct path_scratch {
	union {
		struct record_fd r;
		struct record_path asked;
	};
	u8 rest[RARE_BYTES - sizeof(struct record_fd)];
	/* the path is written backwards from PATH_BUFFER, with room for a name behind */
	char buffer[PATH_BUFFER + 256];
	u32 length;
	/* kept here, since stacks are short: */
	struct path_walk walk;
	u64 numbers[2]; /* arguments of a format */
};

/*
 * path.bpf.c: writes the names on the way from `walk` to the root before the contents of the
 * buffer. Whether it came to the root. Not static, so that the verifier checks it once for each
 * program, and not at each call.
 */
int path_climb(struct path_scratch *s);

#define PATH_WORDS 8

/*
 * Copies `n` bytes at `at` of the buffer to the record. A few bytes are copied without a call of a
 * helper, together with some that follow.
 */
static __always_inline void path_copy(struct path_scratch *s, u64 at, u64 n)
{
	if (n > PATH_WORDS * sizeof(u64)) {
		bpf_probe_read_kernel(s->r.path, n, s->buffer + at);
		return;
	}
#pragma unroll
	for (int i = 0; i < PATH_WORDS; i++)
		((u64 *)s->r.path)[i] = ((u64 *)(s->buffer + at))[i];
}

/* Writes the path into the record. False: it was cut. */
static __always_inline bool path_write(struct path_scratch *s, struct task_struct *task,
				       struct dentry *dentry, struct vfsmount *mount)
{
	bool whole;
	u64 at, n;

	s->length = 0;
	s->walk.dentry = dentry;
	s->walk.mount = (void *)mount - bpf_core_field_offset(struct mount, mnt);
	s->walk.root_dentry = KERNEL_READ(task, fs, root.dentry);
	s->walk.root_mount = KERNEL_READ(task, fs, root.mnt);
	whole = path_climb(s);
	if (!whole)
		ring_count_incomplete();
	n = s->length;
	at = PATH_BUFFER - n;
	BOUND(at, 4095);
	BOUND(n, 4095);
	if (at + n <= PATH_BUFFER)
		path_copy(s, at, n);
	s->r.path_len = n;
	return whole;
}

/* Set by capture: the number of the recorder's own mount namespace; 0: not known. */
extern const volatile u32 path_own_mounts;

/* The number of the task's mount namespace; 0: it is the recorder's. */
static __always_inline u32 path_mounts(struct task_struct *task)
{
	u32 mounts = KERNEL_READ(task, nsproxy, mnt_ns, ns.inum);

	return path_own_mounts && mounts != path_own_mounts ? mounts : 0;
}

/* Writes a NUL and eight digits behind a name of `at` bytes, for which there must be room. */
static __always_inline void path_put_mounts(char *name, u64 at, u32 mounts)
{
	BOUND(at, 4095);
	name[at] = '\0';
#pragma unroll
	for (int i = 0; i < MOUNTS_BYTES - 1; i++) {
		u32 digit = mounts >> (4 * (MOUNTS_BYTES - 2 - i)) & 15;

		/* no branch, of which the verifier would follow both ways */
		name[at + 1 + i] = (char)(digit + '0' + ((digit + 6) >> 4) * ('a' - 10 - '0'));
	}
}

/* Whether the file is in no directory, like a memfd. Then its name stands alone. */
static __always_inline bool path_is_apart(struct dentry *dentry, struct vfsmount *mount)
{
	return KERNEL_READ(dentry, d_parent) == dentry && KERNEL_READ(mount, mnt_root) != dentry;
}

static __always_inline void path_of_file(struct path_scratch *s, struct task_struct *task,
					 struct file *file)
{
	struct dentry *dentry = KERNEL_READ(file, f_path.dentry);
	struct vfsmount *mount = KERNEL_READ(file, f_path.mnt);
	bool apart = path_is_apart(dentry, mount);
	u64 at;
	long n;

	if (apart) {
		s->r.path[0] = '/';
		n = bpf_probe_read_kernel_str(s->r.path + 1, 256, KERNEL_READ(dentry, d_name.name));
		s->r.path_len = n > 0 ? n : 1;
	} else if (!path_write(s, task, dentry, mount)) {
		s->r.flags |= FD_NAME_CUT;
	}
	if (!apart && !file_is_deleted(dentry))
		return;
	at = s->r.path_len;
	BOUND(at, 4095);
	if (at + 10 > sizeof(s->r.path))
		return;
	__builtin_memcpy(s->r.path + at, " (deleted)", 10);
	s->r.path_len = at + 10;
}

/* Writes "pipe:[7]" or "socket:[7]": a prefix and the inode number. */
static __always_inline void path_of_number(struct path_scratch *s, const char *format)
{
	long n;

	s->numbers[0] = s->r.file.key;
	n = bpf_snprintf(s->r.path, 64, format, s->numbers, sizeof(s->numbers[0]));

	s->r.path_len = n > 1 && n <= 64 ? n - 1 : 0;
}

/* Writes "anon_inode:[eventfd]": the name of the dentry behind a prefix. */
static __always_inline void path_of_anon(struct path_scratch *s, struct file *file)
{
	struct dentry *dentry = KERNEL_READ(file, f_path.dentry);
	const unsigned char *name = KERNEL_READ(dentry, d_name.name);
	long n;

	__builtin_memcpy(s->r.path, "anon_inode:", 11);
	if (s->r.file.kind == FILE_KIND_pidfd) { /* newer kernels make this name when it is read */
		__builtin_memcpy(s->r.path + 11, "[pidfd]", 7);
		s->r.path_len = 18;
		return;
	}
	n = bpf_probe_read_kernel_str(s->r.path + 11, 64, name);
	s->r.path_len = n > 0 ? 11 + n - 1 : 11;
}

static __always_inline bool file_is_namespace(struct file *file)
{
	return KERNEL_READ(file, f_inode, i_sb, s_magic) == MAGIC_NSFS;
}

/* Writes "net:[7]": the kind of a namespace, and its number. */
static __always_inline void path_of_namespace(struct path_scratch *s, struct file *file)
{
	struct ns_common *namespace = KERNEL_READ(file, f_inode, i_private);
	long n;

	s->numbers[0] = (u64)KERNEL_READ(namespace, ops, name);
	s->numbers[1] = s->r.file.key;
	n = bpf_snprintf(s->r.path, 64, "%s:[%llu]", s->numbers, sizeof(s->numbers));

	s->r.path_len = n > 1 && n <= 64 ? n - 1 : 0;
}

static __always_inline bool fd_is_cloexec(struct task_struct *task, u32 fd)
{
	struct fdtable *table = KERNEL_READ(task, files, fdt);
	unsigned long *bits = KERNEL_READ(table, close_on_exec);

	if (fd >= KERNEL_READ(table, max_fds))
		return false;
	return kernel_read_word(bits + fd / 64) >> (fd & 63) & 1;
}

/* Says in which mount namespace the name of the file holds. */
static __always_inline void fd_put_mounts(struct path_scratch *s, struct task_struct *task)
{
	u64 at = s->r.path_len;
	u32 mounts = path_mounts(task);

	if (!mounts || at + MOUNTS_BYTES > sizeof(s->r.path))
		return;
	path_put_mounts(s->r.path, at, mounts);
	s->r.path_len = at + MOUNTS_BYTES;
	s->r.flags |= FD_MOUNTS;
}

/* Fills the record of a descriptor, or of a file without one (-1), except for the time. */
static __always_inline void fd_fill(struct path_scratch *s, struct task_struct *task,
				    struct file *file, s32 fd, u8 op)
{
	struct record_fd *r = &s->r;
	struct file_ref *ref = (void *)r + __builtin_offsetof(struct record_fd, file);
	u16 kind;

	__builtin_memset(r, 0, 64);
	r->head.kind = RECORD_fd;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->fd = fd;
	r->from = -1;
	r->op = op;
	if (fd >= 0 && fd_is_cloexec(task, fd))
		r->flags |= FD_CLOEXEC_SET;
	file_fill(ref, file);
	kind = ref->kind;
	if (kind == FILE_KIND_pipe)
		path_of_number(s, "pipe:[%llu]");
	else if (kind >= FILE_KIND_tcp && kind <= FILE_KIND_socket_other)
		path_of_number(s, "socket:[%llu]");
	else if ((kind >= FILE_KIND_eventfd && kind <= FILE_KIND_anon_other) ||
		 kind == FILE_KIND_fanotify)
		path_of_anon(s, file);
	else if (kind == FILE_KIND_pseudo && file_is_namespace(file))
		path_of_namespace(s, file);
	else
		path_of_file(s, task, file);
	if (s->r.path[0] == '/')
		fd_put_mounts(s, task);
}

static __always_inline u32 fd_bytes(const struct record_fd *r)
{
	return __builtin_offsetof(struct record_fd, path) + r->path_len;
}

#endif
