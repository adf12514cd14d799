/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "answer/span_arguments.h"
#include "answer/span_block.h"
#include "answer/span_connection.h"
#include "answer/span_stack.h"
#include "answer/span_waker.h"
#include "map/fact/query.h"
#include "map/idle.h"
#include "map/kernel/call_sums.h"
#include "model/file_name.h"
#include "model/syscall_format.h"
#include "model/uring.h"

/* The number of the call, or of the corresponding 64-bit call; -1: there is none. */
static int call_native(const struct kspan *k)
{
	return k->mode & SYSCALL_COMPAT ? syscall_native(k->nr) : k->nr;
}

/* The index of the fd argument of a call; -1: none. */
static int call_fd_argument(const struct kspan *k)
{
	return syscall_fd_argument(k->mode, k->nr);
}

/* The path of a successful exec without a path record, from its exec record. */
static const char *exec_path(struct span_builder *b, const struct kspan *k)
{
	const struct fact_process *process = query_process(b->p, k->pid, k->end_ns);
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
static const char *fd_name(struct span_builder *b, const struct kspan *k, s32 fd, u64 time_ns)
{
	const struct fd_question q = {
		.tid = k->tid, .pid = k->pid, .fd = fd, .time_ns = time_ns, .file = k->file};
	const char *name = query_fd_name(b->p, &q);
	char text[64];

	if (name || !file_name(text, sizeof(text), &k->file))
		return name;
	return builder_copy(b, text);
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
static void add_fd_name(struct span_builder *b, const struct kspan *k, const char *name)
{
	if (k->file.flags & FILE_DELETED && !name[name_length(k, name)])
		name = builder_text(b, "%s" DELETED, name);
	builder_string(b, "fd.name", name);
}

/* Adds the path of the file, also if it has been deleted. */
static void add_fd_path(struct span_builder *b, const struct kspan *k, const char *name)
{
	if (name[0] != '/')
		return;
	if (name[name_length(k, name)])
		name = builder_text(b, "%.*s", (int)name_length(k, name), name);
	builder_string(b, "file.path", name);
}

/* The absolute path; NULL if it is unknown, or the call works on the descriptor itself. */
static const char *call_path(struct span_builder *b, const struct kspan *k,
			     const struct fact_path *f)
{
	char whole[2 * 4096 + 2];
	const char *directory;

	if (f->flags & PATH_BEGINS_CUT)
		return NULL;
	if (!(f->flags & PATH_FROM_FD))
		return f->path[0] ? f->path : NULL;
	directory = fd_name(b, k, (s32)k->args[0], k->begin_ns);
	if (!directory || directory[0] != '/')
		return NULL;
	snprintf(whole, sizeof(whole), "%.*s/%s", (int)name_length(k, directory), directory,
		 f->path);
	file_path_fold(whole);
	return builder_copy(b, whole);
}

/* For a recording without a path record of the exec. */
static void exec_paths_find(struct span_builder *b, const struct kspan *k, struct call_paths *paths)
{
	const char *asked = exec_path(b, k);

	paths->asked.asked[0] = asked;
	if (asked && asked[0] == '/')
		paths->path = asked;
}

/* OpenTelemetry uses "_OTHER" for an errno without a name. */
static void add_error(struct span_builder *b, s64 result)
{
	const char *name = syscall_errno_name((int)-result);

	builder_string(b, "error.type", name ? name : "_OTHER");
}

static struct call_paths call_paths_find(struct span_builder *b, const struct kspan *k)
{
	const struct fact_path *f;
	struct call_paths paths = {0};
	int nr = call_native(k);

	for (int i = 0; i < 2; i++) {
		f = query_call_path(b->p, k, i == 1);
		if (!f)
			continue;
		paths.asked.asked[i] = f->asked;
		paths.asked.cut[i] = f->flags & PATH_CUT;
		*(i ? &paths.second : &paths.path) = call_path(b, k, f);
	}
	if (nr == SYSCALL_NR_mq_unlink) /* a name, not a path */
		paths.path = NULL;
	if (!paths.asked.asked[0] && !k->open && k->result == 0 &&
	    (nr == SYSCALL_NR_execve || nr == SYSCALL_NR_execveat))
		exec_paths_find(b, k, &paths);
	call_paths_order(&paths, nr);
	return paths;
}

/* A call that failed with EBADF had no file, whatever the descriptor was before. */
static bool call_found_no_file(const struct kspan *k)
{
	return !k->open && k->result == -EBADF && !k->file.kind;
}

/* For a call whose descriptor is in memory (socketcall). */
static void add_file(struct span_builder *b, const struct kspan *k)
{
	const char *name = k->file.kind ? fd_name(b, k, -1, k->begin_ns) : NULL;

	if (name)
		add_fd_name(b, k, name);
	span_add_peer(b, k);
}

static void add_fd(struct span_builder *b, const struct kspan *k, bool has_path)
{
	int index = call_fd_argument(k);
	const char *name;
	s32 fd;

	if (index < 0) /* the descriptor is not among the arguments, its file is known */
		add_file(b, k);
	if (index < 0)
		return;
	fd = (s32)k->args[index];
	if (fd == FD_WORKING_DIRECTORY)
		return;
	builder_integer(b, "fd", fd);
	name = call_found_no_file(k) ? NULL : fd_name(b, k, fd, k->begin_ns);
	if (name) {
		add_fd_name(b, k, name);
		if (!has_path)
			add_fd_path(b, k, name);
	}
	span_add_peer(b, k);
}

/* Adds the file at the other end of a call that moves data between two descriptors. */
static void add_other_fd(struct span_builder *b, const struct kspan *k)
{
	struct kspan other = *k;
	bool from = false;
	const char *name;
	s32 fd;

	switch (call_native(k)) {
	case SYSCALL_NR_sendfile: /* works on the file that it writes */
		from = true;
		fd = (s32)k->args[1];
		break;
	case SYSCALL_NR_tee:
		fd = (s32)k->args[1];
		break;
	case SYSCALL_NR_splice:
	case SYSCALL_NR_copy_file_range:
		fd = (s32)k->args[2];
		break;
	default:
		return;
	}
	builder_integer(b, from ? "from.fd" : "to.fd", fd);
	other.file = (struct file_ref){0};
	name = fd_name(b, &other, fd, k->begin_ns);
	if (name)
		builder_string(b, from ? "from.fd.name" : "to.fd.name", name);
}

#define ARGS_BYTES (2 * 4 * 4096 + 8192) /* two paths of octal digits, and the rest */

static void syscall_attributes(struct span_builder *b, const struct kspan *k, bool restarted)
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
	struct call_paths paths = call_paths_find(b, k);
	const char *ready = span_arguments_ready(b, k, call_native(k));
	char args[ARGS_BYTES];

	if (restarted || (!k->open && syscall_is_restart(k->result)))
		builder_boolean(b, "restarted", true);
	if (!k->open) {
		span_arguments_show(b, k, call_native(k), paths.asked.shown);
		syscall_args_format(args, sizeof(args), &r, &paths.asked);
		builder_string(b, "args", builder_copy(b, args));
		if (!syscall_is_restart(k->result))
			builder_integer(b, "result", k->result);
		if (syscall_error(k->mode, k->nr, k->result))
			add_error(b, k->result);
		if (ready)
			builder_string(b, "poll.ready", ready);
	}
	if (paths.path)
		builder_string(b, "file.path", paths.path);
	if (paths.second)
		builder_string(b, paths.second_key, paths.second);
	add_fd(b, k, paths.path);
	if (!k->open)
		add_other_fd(b, k);
	span_add_bytes(b, k);
}

/* Adds the call of a wait that has no span of the call around it (--detail waits). */
static void wait_call(struct span_builder *b, const struct kspan *wait)
{
	struct kspan call = *wait;
	const char *name;

	if ((wait->mode & MODE_MASK) != MODE_syscall || wait->visit_ns ||
	    wait->nr == LIFE_CALL_UNKNOWN)
		return;
	call.mode = wait->mode & MODE_COMPAT ? SYSCALL_COMPAT : 0;
	call.result = 0; /* a wait has something else there */
	name = syscall_name(call.mode, call.nr);
	if (!name)
		name = builder_text(b, "syscall_0x%x", call.nr);
	builder_string(b, "syscall", name);
	builder_integer(b, "arg0", (s64)call.args[0]);
	if (call_fd_argument(&call) == 0)
		add_fd(b, &call, false);
	else
		add_file(b, &call);
}

/* Adds what ended a wait for many, as the call itself would show it if it had waited for that. */
static void wait_ended(struct span_builder *b, const struct kspan *k)
{
	const struct life_wait wait = {.mode = k->mode, .nr = k->nr, .wake = k->wake};
	struct kspan ended = *k;
	const char *name;

	if (!wait_ended_by(&wait, &ended.file))
		return;
	ended.end_ns = k->wake.time_ns;
	ended.result = 0;
	name = fd_name(b, &ended, -1, ended.end_ns);
	if (name)
		builder_string(b, "ended_by.fd.name", name);
	if (ended.file.kind != k->file.kind || ended.file.key != k->file.key || k->visit_ns)
		span_add_peer(b, &ended);
}

static void wait_attributes(struct span_builder *b, const struct kspan *k)
{
	wait_call(b, k);
	wait_ended(b, k);
	if (idle_is_wait(b->p, k)) {
		builder_string(b, "cause", split_part_name(SPLIT_idle));
		builder_string(b, "cause.reason", idle_reason(k));
	} else {
		builder_string(b, "cause", split_part_name(k->part));
		if (k->reason && k->reason[0])
			builder_string(b, "cause.reason", k->reason);
	}
	if (k->wake.has)
		span_add_waker(b, &k->wake);
	span_add_owner(b, k);
	span_add_had_cpu(b, k);
}

/* The stack, if one was recorded. */
static void wait_frames(struct span_builder *b, const struct kspan *k, struct span *v)
{
	struct stack_frames frames = {0};

	if (!b->p->facts.stacks.count)
		return;
	if (!b->symbolizer)
		b->symbolizer = symbolizer_new();
	if (!b->symbolizer || frames_make(b->p, b->symbolizer, k, &frames))
		b->failed = true;
	v->frames = frames.list;
	v->frames_count = frames.count;
	v->frames_cut = frames.cut;
}

static const char *fault_attributes(struct span_builder *b, const struct kspan *k)
{
	const char *name = k->file.kind ? fd_name(b, k, -1, k->end_ns) : NULL;

	if (name)
		add_fd_path(b, k, name);
	if (k->file.kind)
		builder_integer(b, "file.offset", (s64)k->args[3]);
	builder_string(b, "address", builder_text(b, "0x%llx", (unsigned long long)k->args[0]));
	builder_boolean(b, "write", k->args[2] & FAULT_WRITE);
	return k->args[2] & FAULT_MAJOR ? "major fault" : "minor fault";
}

/* A request that opens a file has the opened file. Returns the name of the request. */
static const char *uring_attributes(struct span_builder *b, const struct kspan *k)
{
	const char *known = uring_name((u8)k->nr), *name = NULL;
	bool opened = uring_opens((u8)k->nr) && k->result >= 0 && !(k->mode & URING_DIRECT);
	s32 fd = (s32)k->args[0];
	char flags[256];

	if (k->mode & URING_DIRECT)
		builder_integer(b, "io_uring.slot", fd);
	else if (fd >= 0)
		builder_integer(b, "fd", fd);
	if (k->file.kind)
		name = fd_name(b, k, k->mode & URING_DIRECT ? -1 : fd, k->begin_ns);
	else if (opened)
		name = fd_name(b, k, (s32)k->result, k->end_ns);
	if (name) {
		add_fd_name(b, k, name);
		add_fd_path(b, k, name);
	}
	span_add_peer(b, k);
	if (uring_flags_format(flags, sizeof(flags), (u32)k->args[1]))
		builder_string(b, "io_uring.flags", builder_copy(b, flags));
	if (k->mode & URING_SQPOLL)
		builder_boolean(b, "io_uring.polled", true);
	if (!(k->mode & URING_END_UNKNOWN))
		builder_integer(b, "result", k->result);
	if (syscall_result_is_error(k->result))
		add_error(b, k->result);
	return known ? known : builder_text(b, "io_uring 0x%x", k->nr);
}

/* A call that is not in the table has the name that strace gives it. */
static const char *call_name(struct span_builder *b, u8 abi_flags, u16 nr)
{
	const char *name = syscall_name(abi_flags, nr);

	return name ? name : builder_text(b, "syscall_0x%x", nr);
}

void span_make_kernel(struct span_builder *b, const struct node *n, struct span *v, bool brief)
{
	struct kspan span, *k = &span;

	kspans_get(&b->p->kspans, n->of - 1, k);
	v->time = n->restarted ? node_split(b->p, b->tree, n) : idle_split(b->p, k);
	if (n->kind == NODE_SYSCALL) {
		v->kind = "syscall";
		v->name = call_name(b, k->mode & SYSCALL_COMPAT, k->nr);
		if (!brief)
			syscall_attributes(b, k, n->restarted);
	} else if (n->kind == NODE_WAIT) {
		v->kind = "wait";
		v->name = split_part_name(idle_is_wait(b->p, k) ? SPLIT_idle : k->part);
		if (brief)
			return;
		wait_attributes(b, k);
		wait_frames(b, k, v);
	} else if (n->kind == NODE_BLOCK) {
		v->kind = "block";
		v->name = span_add_block(b, k);
	} else if (n->kind == NODE_URING) {
		v->kind = "io_uring";
		v->name = uring_attributes(b, k);
	} else {
		v->kind = "fault";
		v->name = fault_attributes(b, k);
	}
}
