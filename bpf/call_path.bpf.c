// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The path that a call was asked for, read when the call ends: its page is in
 * memory then if the kernel itself has just read it. Of a call that was refused
 * before that, a path that is not in memory is not told, but counted. An exec that
 * succeeds has no memory left where it stood: the kernel's copy is read.
 */
#include "bpf/call_path.h"
#include "bpf/license.h"
#include "bpf/path.h"
#include "bpf/ring.h"

#define PATH_BYTES 4096

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_scratch);
} call_paths SEC(".maps");

/* The directory that a relative path starts from. False if it is none. */
static __always_inline bool call_directory(struct path_scratch *s, struct task_struct *task,
					   s32 dirfd)
{
	struct dentry *dentry;
	struct vfsmount *mount;
	struct file *file;

	if (dirfd == CALL_PATH_AT_CWD) {
		dentry = BPF_CORE_READ(task, fs, pwd.dentry);
		mount = BPF_CORE_READ(task, fs, pwd.mnt);
	} else {
		file = file_of_fd(task, dirfd);
		if (!file)
			return false;
		dentry = BPF_CORE_READ(file, f_path.dentry);
		mount = BPF_CORE_READ(file, f_path.mnt);
	}
	if (!path_write(s, task, dentry, mount))
		s->asked.flags |= PATH_CUT;
	return true;
}

static __always_inline long call_read(char *to, u32 size, u32 call, u64 text)
{
	return call & CALL_PATH_KERNEL ? bpf_probe_read_kernel_str(to, size, (void *)text)
				       : bpf_probe_read_user_str(to, size, (void *)text);
}

static __always_inline char call_first(u32 call, u64 text)
{
	char first = 0;

	if (call & CALL_PATH_KERNEL)
		bpf_probe_read_kernel(&first, 1, (void *)text);
	else if (bpf_probe_read_user(&first, 1, (void *)text) && text)
		ring_count_incomplete();
	return first;
}

/*
 * Puts the directory that `text` starts from. False if there is none. An exec can have closed it,
 * and can run what a descriptor stands for, with an empty path.
 */
static __always_inline bool call_begin(struct path_scratch *s, u32 call, s32 dirfd, u64 text)
{
	char first = call_first(call, text);
	u64 at;

	__builtin_memset(&s->asked, 0, 64);
	if (!first)
		return call & CALL_PATH_KERNEL;
	if (first == '/' || call & CALL_PATH_IS_TEXT)
		return true;
	if (!call_directory(s, bpf_get_current_task_btf(), dirfd)) {
		s->asked.flags |= PATH_FROM_FD;
		return call & CALL_PATH_KERNEL;
	}
	at = s->asked.path_len;
	BOUND(at, 4095);
	s->asked.path[at] = call & CALL_PATH_MOVED ? '\0' : '/';
	s->asked.path_len = at + 1;
	return true;
}

int call_path(u32 call, u64 begin_ns, s32 dirfd, u64 text)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct path_scratch *s;
	u32 zero = 0;
	long n;
	u64 at;

	s = bpf_map_lookup_elem(&call_paths, &zero);
	if (!s || !call_begin(s, call, dirfd, text))
		return 0;
	at = s->asked.path_len;
	BOUND(at, 4095);
	n = call_read(s->asked.path + at, PATH_BYTES, call, text);
	if (n <= 0) {
		ring_count_incomplete();
		return 0;
	}
	s->asked.asked = at;
	at += n - 1;
	if (at > PATH_BYTES) {
		at = PATH_BYTES;
		s->asked.flags |= PATH_CUT;
		ring_count_incomplete();
	}
	if (call & CALL_PATH_IS_SECOND)
		s->asked.flags |= PATH_SECOND;
	if (call & CALL_PATH_MOVED)
		s->asked.flags |= PATH_ARRIVED;
	s->asked.head.kind = RECORD_path;
	s->asked.head.tid = task->pid;
	s->asked.head.pid = task->tgid;
	s->asked.call_ns = begin_ns;
	s->asked.nr = call;
	s->asked.path_len = at;
	rare_emit(&s->asked.head, __builtin_offsetof(struct record_path, path) + at);
	return 0;
}
