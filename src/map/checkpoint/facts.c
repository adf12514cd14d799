/* SPDX-License-Identifier: Apache-2.0 */
/* Facts in a checkpoint. */
#include "map/checkpoint/internal.h"

#include <errno.h>
#include <string.h>

static void archive_name(struct archive *a, struct fact_name *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_bool(a, &f->weak);
	archive_u64(a, &f->start_ns);
	archive_bytes(a, f->comm, sizeof(f->comm));
	f->comm[sizeof(f->comm) - 1] = '\0';
}

/* There are some only while the uneven_cut at its end is open: else their tables are there. */
static void archive_fork(struct archive *a, struct fact_fork *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->parent_tid);
	archive_u32(a, &f->parent_pid);
	archive_u32(a, &f->flags);
	archive_u64(a, &f->start_ns);
	archive_u64(a, &f->cgroup);
}

static void archive_process(struct archive *a, struct fact_process *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->parent_pid);
	archive_u32(a, &f->old_tid);
	archive_u64(a, &f->start_ns);
	archive_u64(a, &f->cgroup);
	archive_u32(a, &f->files);
	archive_bool(a, &f->snapshot);
	archive_text(a, &f->command, &f->command_bytes);
	if (!f->command)
		archive_fail(a, -EBADMSG);
}

static void archive_fd(struct archive *a, struct fact_fd *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->tid);
	archive_s32(a, &f->fd);
	archive_s32(a, &f->from);
	archive_u8(a, &f->op);
	archive_u8(a, &f->flags);
	archive_file(a, &f->file);
	archive_shared_path(a, &f->path);
}

static void archive_socket(struct archive *a, struct fact_socket *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_bytes(a, &f->socket, offsetof(struct record_socket, path_len));
	archive_path(a, &f->path);
}

static void archive_service(struct archive *a, struct fact_service *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_text(a, &f->resource, &f->bytes);
	if (!f->resource)
		archive_fail(a, -EBADMSG);
}

static void archive_follow(struct archive *a, struct fact_follow *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_bool(a, &f->again);
}

static void archive_cgroup(struct archive *a, struct fact_cgroup *f)
{
	archive_u64(a, &f->id);
	archive_u32(a, &f->hierarchy);
	archive_u32(a, &f->path_bytes);
	archive_bytes(a, f->container, sizeof(f->container));
	f->container[sizeof(f->container) - 1] = '\0';
}

static void archive_move(struct archive *a, struct fact_move *f)
{
	archive_time(a, &f->time_ns);
	archive_u64(a, &f->cgroup);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->hierarchy);
	archive_bool(a, &f->found);
}

static void archive_stack(struct archive *a, struct fact_stack *f)
{
	u32 bytes = (f->frames + f->words) * 8;
	char *addresses = (char *)f->addresses;

	archive_time(a, &f->time_ns);
	archive_u64(a, &f->since_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->flags);
	archive_u32(a, &f->frames);
	archive_u32(a, &f->words);
	archive_text(a, &addresses, &bytes);
	f->addresses = (u64 *)addresses;
	if (!addresses || bytes / 8 < f->frames || bytes / 8 - f->frames != f->words)
		archive_fail(a, -EBADMSG);
}

/* Behind its path are always the identity and the function. */
static void archive_mapping(struct archive *a, struct fact_mapping *f)
{
	archive_u64(a, &f->since_ns);
	archive_u64(a, &f->begin);
	archive_u64(a, &f->end);
	archive_u64(a, &f->offset);
	archive_u32(a, &f->pid);
	archive_text(a, &f->path, &f->bytes);
	if (!f->path || f->bytes < 3 || memcmp(f->path + f->bytes - 3, "\0\0", 3) != 0)
		archive_fail(a, -EBADMSG);
}

void checkpoint_facts(struct archive *a, struct facts *f)
{
	archive_list(a, &f->names, archive_name);
	archive_list(a, &f->forks, archive_fork);
	archive_list(a, &f->processes, archive_process);
	archive_list(a, &f->fds, archive_fd);
	archive_list(a, &f->sockets, archive_socket);
	archive_list(a, &f->services, archive_service);
	archive_list(a, &f->follows, archive_follow);
	archive_list(a, &f->cgroups, archive_cgroup);
	archive_list(a, &f->moves, archive_move);
	archive_list(a, &f->stacks, archive_stack);
	archive_list(a, &f->mappings, archive_mapping);
}
