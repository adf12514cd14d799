// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The path that a call was asked for. It is read when the call ends: its page is in memory then, as
 * the kernel itself has just read it. If the call was refused before that and the page is not in
 * memory, the path is counted as incomplete. A successful exec has replaced the memory of the
 * process, so the kernel's copy of the path is read.
 */
#include "bpf/call_path.h"
#include "bpf/call.h"
#include "bpf/call_begin.h"
#include "bpf/context.h"
#include "bpf/kernel_versions.h"
#include "bpf/license.h"
#include "bpf/path.h"
#include "bpf/ring.h"

#define PATH_BYTES 4096

const u8 call_paths_of[SYSCALL_TABLE_SIZE] = CALL_PATHS_INIT;
const u8 call_second_paths_of[SYSCALL_TABLE_SIZE] = CALL_SECOND_PATHS_INIT;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_scratch);
} call_paths SEC(".maps");

/* Writes the directory where a relative path starts. False: the descriptor is no open file. */
static __always_inline bool call_directory(struct path_scratch *s, struct task_struct *task,
					   s32 dirfd)
{
	struct dentry *dentry;
	struct vfsmount *mount;
	struct file *file;

	if (dirfd == CALL_PATH_AT_CWD) {
		dentry = KERNEL_READ(task, fs, pwd.dentry);
		mount = KERNEL_READ(task, fs, pwd.mnt);
	} else {
		file = file_of_fd(task, dirfd);
		if (!file)
			return false;
		dentry = KERNEL_READ(file, f_path.dentry);
		mount = KERNEL_READ(file, f_path.mnt);
	}
	if (!path_write(s, task, dentry, mount))
		s->asked.flags |= PATH_BEGINS_CUT;
	return true;
}

static __always_inline long call_read(char *to, u32 size, u32 call, u64 text)
{
	return call & CALL_PATH_KERNEL ? bpf_probe_read_kernel_str(to, size, (void *)text)
				       : user_text_read(to, size, text);
}

/*
 * Reads the path again, behind the directory where it starts. Returns its length with the NUL;
 * negative if it cannot be read; 0 if there is no such directory. An exec may have closed it, or
 * may run the file of a descriptor, with an empty path.
 */
static __always_inline long call_read_behind(struct path_scratch *s, u32 call, s32 dirfd, u64 text)
{
	u64 at;

	if (!call_directory(s, bpf_get_current_task_btf(), dirfd)) {
		s->asked.flags |= PATH_FROM_FD;
		return 0;
	}
	at = s->asked.path_len;
	BOUND(at, 4095);
	s->asked.path[at] = call & CALL_PATH_MOVED ? '\0' : '/';
	s->asked.path_len = at + 1;
	at = s->asked.path_len;
	BOUND(at, 4095);
	return call_read(s->asked.path + at, PATH_BYTES, call, text);
}

/* Says in which mount namespace the path holds. Returns the length of the text. */
static __always_inline u64 call_put_mounts(struct path_scratch *s, struct task_struct *task,
					   u32 call, u64 at)
{
	u32 mounts = path_mounts(task);

	if (!mounts || call & (CALL_PATH_MOVED | CALL_PATH_IS_TEXT) || s->asked.flags ||
	    at + MOUNTS_BYTES > PATH_BYTES)
		return at;
	path_put_mounts(s->asked.path, at, mounts);
	s->asked.flags |= PATH_MOUNTS;
	return at + MOUNTS_BYTES;
}

__noinline int call_path_fill(u32 call, u64 begin_ns, s32 dirfd, u64 text)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct path_scratch *s;
	u32 zero = 0;
	long n, behind;
	u64 at;

	s = bpf_map_lookup_elem(&call_paths, &zero);
	if (!s)
		return 0;
	__builtin_memset(&s->asked, 0, 64);
	n = call_read(s->asked.path, PATH_BYTES, call, text);
	if (n == 1 && !(call & CALL_PATH_KERNEL))
		return 0;
	if (n > 1 && s->asked.path[0] != '/' && !(call & CALL_PATH_IS_TEXT)) {
		behind = call_read_behind(s, call, dirfd, text);
		if (behind == 0 && !(call & CALL_PATH_KERNEL))
			return 0;
		if (behind)
			n = behind;
	}
	if (n <= 0) {
		if (text)
			ring_count_incomplete();
		return 0;
	}
	at = s->asked.path_len;
	BOUND(at, 4095);
	s->asked.asked = at;
	at += n - 1;
	if (at > PATH_BYTES) {
		at = PATH_BYTES;
		s->asked.flags |= PATH_CUT;
		ring_count_incomplete();
	}
	at = call_put_mounts(s, task, call, at);
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
	return __builtin_offsetof(struct record_path, path) + at;
}

__noinline int call_path_emit(u32 bytes)
{
	struct path_scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&call_paths, &zero);
	if (s && bytes)
		short_emit(&s->asked.head, bytes);
	return 0;
}

int call_path(u32 call, u64 begin_ns, s32 dirfd, u64 text)
{
	return call_path_emit(call_path_fill(call, begin_ns, dirfd, text));
}

static __always_inline void call_path_tell(struct thread_state *state, const u64 args[6], u8 which,
					   u32 flags, long result)
{
	u8 place = which & CALL_PATH_MASK;
	s32 dirfd = CALL_PATH_AT_CWD;

	if (which & CALL_PATH_DIRFD)
		dirfd = call_argument(args, place - 1);
	if (which & CALL_PATH_TEXT)
		flags |= CALL_PATH_IS_TEXT;
	if (state->row == SYSCALL_NR_chdir && result == 0)
		flags |= CALL_PATH_MOVED;
	call_path(state->nr | flags, state->begin_ns, dirfd, call_argument(args, place));
}

/* Not static, so that the arguments are on a stack frame of their own. */
__noinline int call_paths_tell(struct thread_state *state, long result)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	u64 args[6], row;
	u8 second;

	if (!state)
		return 0;
	row = call_row_of(state);
	second = call_second_paths_of[row];
	call_registers(args, regs, state->compat);
	if (state->compat && row == SYSCALL_NR_fanotify_mark) { /* its mask takes two */
		args[3] = args[4];
		args[4] = args[5];
	}
	call_path_tell(state, args, call_paths_of[row], 0, result);
	if (second)
		call_path_tell(state, args, second, CALL_PATH_IS_SECOND, result);
	return 0;
}

/* The length of the descriptor's name, with a slash, that the kernel puts before a path. */
static __always_inline u32 exec_fd_name(u64 name, u32 fd)
{
	u32 bytes = sizeof("/dev/fd/");
	char next = 0;

	for (int digits = 1; digits < 10 && fd >= 10; digits++) {
		fd /= 10;
		bytes++;
	}
	bpf_probe_read_kernel(&next, 1, (void *)(name + bytes));
	return next == '/' ? bytes + 1 : bytes;
}

int exec_path(u64 name, u32 from_fd)
{
	struct thread_state *state = state_of(bpf_get_current_task_btf());
	s32 dirfd = CALL_PATH_AT_CWD;

	if (!state_in(state) || !record_files || !state->in_syscall || !state->begin_ns ||
	    !call_may_rename(state->row) || syscall_unwanted[call_row_of(state)] ||
	    (spans_only && !context_is_set(&state->ctx)))
		return 0;
	state_take_call(state);
	if (state->row == SYSCALL_NR_execveat)
		dirfd = state->args[0];
	if (from_fd)
		name += exec_fd_name(name, dirfd);
	call_path(state->nr | CALL_PATH_KERNEL, state->begin_ns, dirfd, name);
	return 0;
}
