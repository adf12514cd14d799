/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map/fact/fds.h"
#include "map/internal.h"
#include "model/file_name.h"

char *text_copy(const char *text, size_t bytes)
{
	char *copy = malloc(bytes + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	return copy;
}

static int name_add(struct facts *f, const struct record_head *r, u64 start_ns, const char *comm,
		    size_t len)
{
	struct fact_name name = {
		.time_ns = r->time_ns, .tid = r->tid, .pid = r->pid, .start_ns = start_ns};

	name.weak = r->kind == RECORD_thread || r->kind == RECORD_process;
	len = strnlen(comm, len < sizeof(name.comm) ? len : sizeof(name.comm) - 1);
	memcpy(name.comm, comm, len);
	return vec_push(&f->names, name);
}

static int fork_add(struct facts *f, const struct record_fork *r)
{
	struct fact_fork fork = {.time_ns = r->head.time_ns,
				 .tid = r->head.tid,
				 .pid = r->head.pid,
				 .parent_tid = r->parent_tid,
				 .parent_pid = r->parent_pid,
				 .flags = r->flags,
				 .start_ns = r->start_ns,
				 .cgroup = r->cgroup};
	int err = vec_push(&f->forks, fork);

	return err ? err : name_add(f, &r->head, r->start_ns, r->comm, r->comm_len);
}

static int process_add(struct facts *f, struct fact_process process, const char *command)
{
	int err;

	process.command = text_copy(command, process.command_bytes);
	if (!process.command)
		return -ENOMEM;
	err = vec_push(&f->processes, process);
	if (err)
		free(process.command);
	return err;
}

static int exec_add(struct facts *f, const struct record_exec *r)
{
	struct fact_process process = {.time_ns = r->head.time_ns,
				       .pid = r->head.pid,
				       .old_tid = r->old_tid,
				       .start_ns = r->start_ns,
				       .command_bytes = r->command_len};
	/* of one that was there before its exec, more may be known than this */
	u64 start_ns = r->flags & EXEC_BEGINS ? r->start_ns : 0;
	int err = process_add(f, process, r->command);

	return err ? err : name_add(f, &r->head, start_ns, r->command, r->command_len);
}

static int snapshot_add(struct facts *f, const struct record_process *r)
{
	struct fact_process process = {.time_ns = r->head.time_ns,
				       .pid = r->head.pid,
				       .parent_pid = r->parent_pid,
				       .start_ns = r->start_ns,
				       .cgroup = r->cgroup,
				       .files = r->files,
				       .snapshot = true,
				       .command_bytes = r->command_len};
	struct fact_move there = {
		.time_ns = r->head.time_ns, .pid = r->head.pid, .cgroup = r->cgroup, .found = true};
	int err = process_add(f, process, r->command);

	err = err ? err : name_add(f, &r->head, r->start_ns, r->command, r->command_len);
	return err || !r->cgroup ? err : move_fact_add(f, there);
}

/* Its leader stands for a process. */
static int attach_add(struct facts *f, const struct record_cgroup_attach *r)
{
	struct fact_move move = {.time_ns = r->head.time_ns,
				 .pid = r->head.pid,
				 .cgroup = r->cgroup,
				 .hierarchy = r->hierarchy,
				 .found = r->flags & CGROUP_FOUND};

	return r->head.tid == r->head.pid ? move_fact_add(f, move) : 0;
}

static int thread_add(struct facts *f, const struct record_thread *r)
{
	return name_add(f, &r->head, r->start_ns, r->comm, r->comm_len);
}

static int comm_add(struct facts *f, const struct record_name *r)
{
	return name_add(f, &r->head, 0, r->comm, r->comm_len);
}

/* A name that was cut at its begin says so: without what is missing it looks like another. */
static const char *fd_name_keep(struct texts *texts, const struct record_fd *r)
{
	char name[sizeof("…") + sizeof(r->path)];
	int length;

	if (!(r->flags & FD_NAME_CUT))
		return texts_keep(texts, r->path, r->path_len);
	length = snprintf(name, sizeof(name), "…%.*s", (int)r->path_len, r->path);
	return texts_keep(texts, name, (size_t)length);
}

static int fd_add(struct facts *f, const struct record_fd *r)
{
	struct fact_fd fd = {.time_ns = r->head.time_ns,
			     .pid = r->head.pid,
			     .tid = r->head.tid,
			     .fd = r->fd,
			     .from = r->from,
			     .op = r->op,
			     .flags = r->flags,
			     .file = r->file};

	if (r->path_len) {
		fd.path = fd_name_keep(&f->texts, r);
		if (!fd.path)
			return -ENOMEM;
	}
	return vec_push(&f->fds, fd);
}

static int socket_add(struct facts *f, const struct record_socket *r)
{
	struct fact_socket s = {.time_ns = r->head.time_ns, .pid = r->head.pid, .socket = *r};
	int err;

	if (r->path_len) {
		s.path = text_copy(r->path, r->path_len);
		if (!s.path)
			return -ENOMEM;
	}
	err = vec_push(&f->sockets, s);
	if (err)
		free(s.path);
	return err;
}

static int bytes_add(struct facts *f, const struct record_bytes *r)
{
	struct fact_bytes *b = thread_facts_add(&f->bytes, sizeof(*b), r->head.tid,
						r->head.time_ns);

	if (!b)
		return -ENOMEM;
	*b = (struct fact_bytes){.time_ns = r->head.time_ns,
				 .from = r->from,
				 .length = r->length,
				 .key = r->file.key,
				 .tid = r->head.tid,
				 .direction = r->direction,
				 .flags = r->flags};
	return 0;
}

/* Most are folded already. */
static const char *path_folded(struct texts *texts, const char *path, size_t bytes)
{
	char folded[sizeof(((struct record_path *)NULL)->path) + 1];

	if (!file_path_may_fold(path))
		return path;
	memcpy(folded, path, bytes);
	folded[bytes] = '\0';
	file_path_fold(folded);
	return texts_keep(texts, folded, strlen(folded));
}

static int path_add(struct facts *f, const struct record_path *r)
{
	struct fact_path p = {.call_ns = r->call_ns,
			      .time_ns = r->head.time_ns,
			      .tid = r->head.tid,
			      .nr = r->nr,
			      .flags = r->flags};
	const char *told = texts_keep(&f->texts, r->path, r->path_len);
	struct fact_path *to;

	if (!told)
		return -ENOMEM;
	p.path = path_folded(&f->texts, told, r->path_len);
	p.asked = told + (r->asked < r->path_len ? r->asked : 0);
	if (!p.path)
		return -ENOMEM;
	to = thread_facts_add(&f->paths, sizeof(*to), p.tid, p.call_ns);
	if (!to)
		return -ENOMEM;
	*to = p;
	return 0;
}

static int service_add(struct facts *f, const struct record_service *r)
{
	struct fact_service s = {
		.time_ns = r->head.time_ns, .pid = r->head.pid, .bytes = r->resource_len};
	int err;

	s.resource = text_copy(r->resource, r->resource_len);
	if (!s.resource)
		return -ENOMEM;
	err = vec_push(&f->services, s);
	if (err)
		free(s.resource);
	return err;
}

static int clock_add(struct facts *f, const struct record_clock *r)
{
	struct fact_clock c = {.monotonic_ns = r->head.time_ns,
			       .realtime_ns = r->realtime_ns,
			       .boottime_ns = r->boottime_ns,
			       .reason = r->reason};

	return vec_push(&f->clocks, c);
}

static int follow_add(struct facts *f, const struct record_filter *r)
{
	struct fact_follow follow = {.time_ns = r->head.time_ns,
				     .pid = r->head.pid,
				     .again = (r->flags & FILTER_AGAIN) != 0};

	return r->flags & FILTER_FOLLOWS ? vec_push(&f->follows, follow) : 0;
}

int facts_add(struct facts *f, const struct record_head *r)
{
	switch (r->kind) {
	case RECORD_fork:
		return fork_add(f, (const void *)r);
	case RECORD_exec:
		return exec_add(f, (const void *)r);
	case RECORD_name:
		return comm_add(f, (const void *)r);
	case RECORD_process:
		return snapshot_add(f, (const void *)r);
	case RECORD_thread:
		return thread_add(f, (const void *)r);
	case RECORD_fd:
		return fd_add(f, (const void *)r);
	case RECORD_socket:
		return socket_add(f, (const void *)r);
	case RECORD_bytes:
		return bytes_add(f, (const void *)r);
	case RECORD_path:
		return path_add(f, (const void *)r);
	case RECORD_stack:
		return stack_fact_add(f, (const void *)r);
	case RECORD_mapping:
		return mapping_fact_add(f, (const void *)r);
	case RECORD_service:
		return service_add(f, (const void *)r);
	case RECORD_clock:
		return clock_add(f, (const void *)r);
	case RECORD_cgroup:
		return cgroup_fact_add(f, (const void *)r);
	case RECORD_cgroup_attach:
		return attach_add(f, (const void *)r);
	case RECORD_filter:
		return follow_add(f, (const void *)r);
	default:
		return 0;
	}
}

int facts_merge(struct facts *left, struct facts *right)
{
	int err = texts_merge(&left->texts, &right->texts);

	err = err ? err : vec_move(&left->names, &right->names);
	err = err ? err : vec_move(&left->forks, &right->forks);
	err = err ? err : vec_move(&left->processes, &right->processes);
	err = err ? err : vec_move(&left->fds, &right->fds);
	err = err ? err : vec_move(&left->sockets, &right->sockets);
	err = err ? err : thread_facts_merge(&left->bytes, &right->bytes);
	err = err ? err : thread_facts_merge(&left->paths, &right->paths);
	err = err ? err : vec_move(&left->stacks, &right->stacks);
	err = err ? err : vec_move(&left->mappings, &right->mappings);
	err = err ? err : vec_move(&left->services, &right->services);
	err = err ? err : vec_move(&left->clocks, &right->clocks);
	err = err ? err : vec_move(&left->follows, &right->follows);
	err = err ? err : vec_move(&left->cgroups, &right->cgroups);
	err = err ? err : vec_move(&left->moves, &right->moves);
	return err;
}

void facts_free(struct facts *f)
{
	for (size_t i = 0; i < f->processes.count; i++)
		free(f->processes.data[i].command);
	for (size_t i = 0; i < f->sockets.count; i++)
		free(f->sockets.data[i].path);
	for (size_t i = 0; i < f->services.count; i++)
		free(f->services.data[i].resource);
	stack_facts_free(f);
	texts_free(&f->texts);
	vec_free(&f->names);
	vec_free(&f->unseen_forks);
	vec_free(&f->forks);
	vec_free(&f->processes);
	vec_free(&f->fds);
	vec_free(&f->tables);
	vec_free(&f->fd_ranges);
	vec_free(&f->fds_by_file);
	vec_free(&f->sockets);
	vec_free(&f->sockets_by_peer);
	thread_facts_free(&f->bytes);
	thread_facts_free(&f->paths);
	vec_free(&f->services);
	vec_free(&f->clocks);
	vec_free(&f->follows);
	vec_free(&f->cgroups);
	vec_free(&f->moves);
}

const struct fact_fork *facts_fork(const struct facts *f, u32 pid, u64 time_ns)
{
	const struct fact_fork *list = f->forks.data;
	size_t n = COUNT_BEFORE(&f->forks, e,
				e->tid < pid || (e->tid == pid && e->time_ns <= time_ns));

	if (n == 0 || list[n - 1].tid != pid || list[n - 1].pid != pid)
		return NULL;
	return unseen_forks_last(f, pid, time_ns) > list[n - 1].time_ns ? NULL : &list[n - 1];
}
