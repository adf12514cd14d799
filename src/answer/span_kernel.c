/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "answer/span_block.h"
#include "answer/span_connection.h"
#include "answer/span_stack.h"
#include "answer/span_waker.h"
#include "map/fact/query.h"
#include "model/file_name.h"
#include "model/syscall_format.h"
#include "model/uring.h"

/* The number of the call, or of the corresponding 64-bit call; -1: there is none. */
static int call_native(const struct kspan *k)
{
	return k->mode & SYSCALL_COMPAT ? syscall_native(k->nr) : k->nr;
}

#define COMPAT_MMAP 90 /* its arguments are in memory */

/* The index of the fd argument of a call; -1: none. */
static int call_fd_argument(const struct kspan *k)
{
	static const u8 arguments[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT; /* from 1 */
	int nr = call_native(k);

	if (k->mode & SYSCALL_COMPAT && k->nr == COMPAT_MMAP)
		return -1;
	return nr >= 0 && nr < SYSCALL_TABLE_SIZE ? arguments[nr] - 1 : -1;
}

/* The path of a successful exec without a path record, from its exec record. */
static const char *exec_path(struct making *m, const struct kspan *k)
{
	const struct fact_process *process = query_process(m->p, k->pid, k->end_ns);
	size_t name;

	if (!process || process->time_ns < k->begin_ns)
		return NULL;
	name = strlen(process->command) + 1;
	return name < process->command_bytes ? process->command + name : NULL;
}

/* The paths of a call: as the program wrote them, and absolute. */
struct call_paths {
	struct syscall_paths asked;
	const char *path;   /* absolute */
	const char *second; /* in calls with two paths */
	const char *second_key;
};

/* Orders two paths: a source and a target, or a link and its contents. */
static void call_paths_order(struct call_paths *paths, int nr)
{
	const char *first = paths->path;

	paths->second_key = "file.path.new";
	if (nr != SYSCALL_NR_symlink && nr != SYSCALL_NR_symlinkat && nr != SYSCALL_NR_mount)
		return;
	paths->second_key = nr == SYSCALL_NR_mount ? "mount.source"
						   : "file.symbolic_link.target_path";
	paths->path = paths->second;
	paths->second = paths->asked.asked[0] ? paths->asked.asked[0] : first;
}

#define FD_WORKING_DIRECTORY -100

/* The file of a descriptor. The kernel's names of sockets and similar files are always known. */
static const char *fd_name(struct making *m, const struct kspan *k, s32 fd, u64 time_ns)
{
	const struct fd_question q = {
		.tid = k->tid, .pid = k->pid, .fd = fd, .time_ns = time_ns, .file = k->file};
	const char *name = query_fd_name(m->p, &q);
	char text[64];

	if (name || !file_name(text, sizeof(text), &k->file))
		return name;
	return making_copy(m, text);
}

#define DELETED " (deleted)"

/* The length of a name without " (deleted)", which it has if it was deleted before its open. */
static size_t name_length(const struct kspan *k, const char *name)
{
	size_t len = strlen(name), end = strlen(DELETED);
	bool says = k->file.flags & FILE_DELETED && len >= end &&
		    strcmp(name + len - end, DELETED) == 0;

	return says ? len - end : len;
}

/* Adds the name as readlink shows it at that time. */
static void add_fd_name(struct making *m, const struct kspan *k, const char *name)
{
	if (k->file.flags & FILE_DELETED && !name[name_length(k, name)])
		name = making_text(m, "%s" DELETED, name);
	making_string(m, "fd.name", name);
}

/* Adds the path of the file, also if it has been deleted. */
static void add_fd_path(struct making *m, const struct kspan *k, const char *name)
{
	if (name[0] != '/')
		return;
	if (name[name_length(k, name)])
		name = making_text(m, "%.*s", (int)name_length(k, name), name);
	making_string(m, "file.path", name);
}

/* The absolute path; NULL if it is unknown, or the call works on the descriptor itself. */
static const char *call_path(struct making *m, const struct kspan *k, const struct fact_path *f)
{
	char whole[2 * 4096 + 2];
	const char *directory;

	if (f->flags & PATH_BEGINS_CUT)
		return NULL;
	if (!(f->flags & PATH_FROM_FD))
		return f->path[0] ? f->path : NULL;
	directory = fd_name(m, k, (s32)k->args[0], k->begin_ns);
	if (!directory || directory[0] != '/')
		return NULL;
	snprintf(whole, sizeof(whole), "%.*s/%s", (int)name_length(k, directory), directory,
		 f->path);
	file_path_fold(whole);
	return making_copy(m, whole);
}

/* For a recording without a path record of the exec. */
static void exec_paths_find(struct making *m, const struct kspan *k, struct call_paths *paths)
{
	const char *asked = exec_path(m, k);

	paths->asked.asked[0] = asked;
	if (asked && asked[0] == '/')
		paths->path = asked;
}

/* OpenTelemetry uses "_OTHER" for an errno without a name. */
static void making_error(struct making *m, s64 result)
{
	const char *name = syscall_errno_name((int)-result);

	making_string(m, "error.type", name ? name : "_OTHER");
}

static struct call_paths call_paths_find(struct making *m, const struct kspan *k)
{
	const struct fact_path *f;
	struct call_paths paths = {0};
	int nr = call_native(k);

	for (int i = 0; i < 2; i++) {
		f = query_call_path(m->p, k, i == 1);
		if (!f)
			continue;
		paths.asked.asked[i] = f->asked;
		paths.asked.cut[i] = f->flags & PATH_CUT;
		*(i ? &paths.second : &paths.path) = call_path(m, k, f);
	}
	if (!paths.asked.asked[0] && !k->open && k->result == 0 &&
	    (nr == SYSCALL_NR_execve || nr == SYSCALL_NR_execveat))
		exec_paths_find(m, k, &paths);
	call_paths_order(&paths, nr);
	return paths;
}

/* A call that failed with EBADF had no file, whatever the descriptor was before. */
static bool call_found_no_file(const struct kspan *k)
{
	return !k->open && k->result == -EBADF && !k->file.kind;
}

/* For a call whose descriptor is in memory (socketcall). */
static void add_file(struct making *m, const struct kspan *k)
{
	const char *name = k->file.kind ? fd_name(m, k, -1, k->begin_ns) : NULL;

	if (name)
		add_fd_name(m, k, name);
	making_peer(m, k);
}

static void add_fd(struct making *m, const struct kspan *k, bool has_path)
{
	int index = call_fd_argument(k);
	const char *name;
	s32 fd;

	if (index < 0) /* the descriptor is not among the arguments, its file is known */
		add_file(m, k);
	if (index < 0)
		return;
	fd = (s32)k->args[index];
	if (fd == FD_WORKING_DIRECTORY)
		return;
	making_integer(m, "fd", fd);
	name = call_found_no_file(k) ? NULL : fd_name(m, k, fd, k->begin_ns);
	if (name) {
		add_fd_name(m, k, name);
		if (!has_path)
			add_fd_path(m, k, name);
	}
	making_peer(m, k);
}

#define ARGS_BYTES (2 * 4 * 4096 + 1024) /* two paths of octal digits, and the rest */

static void syscall_attributes(struct making *m, const struct kspan *k)
{
	struct record_syscall r = {.nr = k->nr,
				   .flags = k->mode,
				   .result = k->result,
				   .arg0 = k->args[0],
				   .arg1 = k->args[1],
				   .arg2 = k->args[2],
				   .arg3 = k->args[3],
				   .arg4 = k->args[4],
				   .arg5 = k->args[5],
				   .file = k->file};
	struct call_paths paths = call_paths_find(m, k);
	char args[ARGS_BYTES];

	if (!k->open) {
		syscall_args_format(args, sizeof(args), &r, &paths.asked);
		making_string(m, "args", making_copy(m, args));
		making_integer(m, "result", k->result);
		if (syscall_is_restart(k->result))
			making_boolean(m, "restarted", true);
		else if (syscall_result_is_error(k->result))
			making_error(m, k->result);
	}
	if (paths.path)
		making_string(m, "file.path", paths.path);
	if (paths.second)
		making_string(m, paths.second_key, paths.second);
	add_fd(m, k, paths.path);
	making_bytes(m, k);
}

static void wait_attributes(struct making *m, const struct kspan *k)
{
	making_string(m, "cause", split_part_name(k->part));
	if (k->reason && k->reason[0])
		making_string(m, "cause.reason", k->reason);
	if (k->wake.has)
		making_waker(m, &k->wake);
}

/* The stack, if one was recorded. */
static void wait_frames(struct making *m, const struct kspan *k, struct span *v)
{
	struct frame *frames = NULL;

	if (!m->p->facts.stacks.count)
		return;
	if (!m->symbolizer)
		m->symbolizer = symbolizer_new();
	if (!m->symbolizer || frames_make(m->p, m->symbolizer, k, &frames, &v->frames_count))
		m->failed = true;
	v->frames = frames;
}

static const char *fault_attributes(struct making *m, const struct kspan *k)
{
	making_string(m, "address", making_text(m, "0x%llx", (unsigned long long)k->args[0]));
	making_boolean(m, "write", k->args[2] & FAULT_WRITE);
	return k->args[2] & FAULT_MAJOR ? "major fault" : "minor fault";
}

/* A request that opens a file has the opened file. Returns the name of the request. */
static const char *uring_attributes(struct making *m, const struct kspan *k)
{
	const char *known = uring_name((u8)k->nr), *name = NULL;
	bool opened = uring_opens((u8)k->nr) && k->result >= 0 && !(k->mode & URING_DIRECT);
	s32 fd = (s32)k->args[0];
	char flags[256];

	if (k->mode & URING_DIRECT)
		making_integer(m, "io_uring.slot", fd);
	else if (fd >= 0)
		making_integer(m, "fd", fd);
	if (k->file.kind)
		name = fd_name(m, k, k->mode & URING_DIRECT ? -1 : fd, k->begin_ns);
	else if (opened)
		name = fd_name(m, k, (s32)k->result, k->end_ns);
	if (name) {
		add_fd_name(m, k, name);
		add_fd_path(m, k, name);
	}
	making_peer(m, k);
	if (uring_flags_format(flags, sizeof(flags), (u32)k->args[1]))
		making_string(m, "io_uring.flags", making_copy(m, flags));
	if (k->mode & URING_SQPOLL)
		making_boolean(m, "io_uring.polled", true);
	if (!(k->mode & URING_END_UNKNOWN))
		making_integer(m, "result", k->result);
	if (syscall_result_is_error(k->result))
		making_error(m, k->result);
	return known ? known : making_text(m, "io_uring 0x%x", k->nr);
}

/* A call that is not in the table has the name that strace gives it. */
static const char *call_name(struct making *m, u8 abi_flags, u16 nr)
{
	const char *name = syscall_name(abi_flags, nr);

	return name ? name : making_text(m, "syscall_0x%x", nr);
}

void making_kernel(struct making *m, const struct node *n, struct span *v, bool brief)
{
	struct kspan span, *k = &span;

	kspans_get(&m->p->kspans, n->of - 1, k);
	v->time = k->split;
	if (n->kind == NODE_SYSCALL) {
		v->kind = "syscall";
		v->name = call_name(m, k->mode & SYSCALL_COMPAT, k->nr);
		if (!brief)
			syscall_attributes(m, k);
	} else if (n->kind == NODE_WAIT) {
		v->kind = "wait";
		v->name = split_part_name(k->part);
		if (brief)
			return;
		wait_attributes(m, k);
		wait_frames(m, k, v);
	} else if (n->kind == NODE_BLOCK) {
		v->kind = "block";
		v->name = making_block(m, k);
	} else if (n->kind == NODE_URING) {
		v->kind = "io_uring";
		v->name = uring_attributes(m, k);
	} else {
		v->kind = "fault";
		v->name = fault_attributes(m, k);
	}
}
