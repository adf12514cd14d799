/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which facts are asked for: by owner, then time. What is told at one time in whatever
 * order is in one order afterwards, since qsort() need not be stable: each comparison here looks at
 * all that an answer can show.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/group_sort.h"
#include "map/fds.h"
#include "map/internal.h"

static int name_compare(const void *a, const void *b)
{
	const struct fact_name *x = a, *y = b;

	int comms;

	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	comms = strcmp(x->comm, y->comm);
	if (comms)
		return comms;
	COMPARE(x->pid, y->pid);
	COMPARE(x->start_ns, y->start_ns);
	return (int)x->weak - (int)y->weak;
}

static int fork_compare(const void *a, const void *b)
{
	const struct fact_fork *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->pid, y->pid);
	COMPARE(x->parent_tid, y->parent_tid);
	COMPARE(x->parent_pid, y->parent_pid);
	COMPARE(x->flags, y->flags);
	COMPARE(x->start_ns, y->start_ns);
	COMPARE(x->cgroup, y->cgroup);
	return 0;
}

static int process_compare(const void *a, const void *b)
{
	const struct fact_process *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->snapshot, y->snapshot);
	COMPARE(x->parent_pid, y->parent_pid);
	COMPARE(x->old_tid, y->old_tid);
	COMPARE(x->files, y->files);
	COMPARE(x->start_ns, y->start_ns);
	COMPARE(x->cgroup, y->cgroup);
	COMPARE(x->command_bytes, y->command_bytes);
	return memcmp(x->command, y->command, x->command_bytes);
}

static int socket_compare(const void *a, const void *b)
{
	const struct fact_socket *x = a, *y = b;

	int bytes;

	COMPARE(x->socket.file.key, y->socket.file.key);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->pid, y->pid);
	COMPARE(x->socket.remote_port, y->socket.remote_port); /* who knows more is the last */
	COMPARE(x->socket.peer, y->socket.peer);
	bytes = memcmp(&x->socket, &y->socket, offsetof(struct record_socket, path_len));
	return bytes ? bytes : strcmp(x->path ? x->path : "", y->path ? y->path : "");
}

static int bytes_compare(const void *a, const void *b)
{
	const struct fact_bytes *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->key, y->key);
	COMPARE(x->direction, y->direction);
	COMPARE(x->from, y->from);
	COMPARE(x->length, y->length);
	COMPARE(x->flags, y->flags);
	return 0;
}

static struct group_key bytes_key(const void *element)
{
	return (struct group_key){((const struct fact_bytes *)element)->tid, 0};
}

static const struct group_order bytes_order = {sizeof(struct fact_bytes), bytes_key, bytes_compare};

static int path_compare(const void *a, const void *b)
{
	const struct fact_path *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->call_ns, y->call_ns);
	COMPARE(x->nr, y->nr);
	COMPARE(x->flags & PATH_SECOND, y->flags & PATH_SECOND);
	COMPARE(x->flags, y->flags);
	COMPARE(x->time_ns, y->time_ns);
	if (strcmp(x->path, y->path) != 0)
		return strcmp(x->path, y->path);
	return strcmp(x->asked, y->asked);
}

static struct group_key path_key(const void *element)
{
	return (struct group_key){((const struct fact_path *)element)->tid, 0};
}

static const struct group_order path_order = {sizeof(struct fact_path), path_key, path_compare};

static int service_compare(const void *a, const void *b)
{
	const struct fact_service *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->bytes, y->bytes);
	return memcmp(x->resource, y->resource, x->bytes);
}

static int clock_compare(const void *a, const void *b)
{
	const struct fact_clock *x = a, *y = b;

	COMPARE(x->monotonic_ns, y->monotonic_ns);
	COMPARE(x->realtime_ns, y->realtime_ns);
	COMPARE(x->boottime_ns, y->boottime_ns);
	COMPARE(x->reason, y->reason);
	return 0;
}

#define SORT(list, compare)                                                                        \
	do {                                                                                       \
		if ((list)->count)                                                                 \
			qsort((list)->data, (list)->count, sizeof(*(list)->data), compare);        \
	} while (0)

/* What fds_by_file is sorted by. */
struct named_file {
	u64 key, time_ns;
	u32 dev, pid, index;
};

static struct group_key file_key(const void *element)
{
	const struct named_file *f = element;

	return (struct group_key){f->key, (u64)f->dev << 32 | f->pid};
}

static int file_compare(const void *a, const void *b)
{
	const struct named_file *x = a, *y = b;

	COMPARE(x->key, y->key);
	COMPARE(x->dev, y->dev);
	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->index, y->index);
	return 0;
}

static const struct group_order file_order = {sizeof(struct named_file), file_key, file_compare};

static int peer_compare(const void *a, const void *b, void *arg)
{
	const struct facts *f = arg;
	const u32 *i = a, *j = b;

	COMPARE(f->sockets.data[*i].socket.peer, f->sockets.data[*j].socket.peer);
	COMPARE(*i, *j);
	return 0;
}

static int peers_index(struct facts *f)
{
	f->sockets_by_peer.count = 0;
	for (size_t i = 0; i < f->sockets.count; i++) {
		bool told = f->sockets.data[i].socket.peer != 0;
		int err = told ? vec_push(&f->sockets_by_peer, (u32)i) : 0;

		if (err)
			return err;
	}
	if (f->sockets_by_peer.count)
		qsort_r(f->sockets_by_peer.data, f->sockets_by_peer.count, sizeof(u32),
			peer_compare, f);
	return 0;
}

static int follow_compare(const void *a, const void *b)
{
	const struct fact_follow *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int files_index(struct facts *f)
{
	VEC(struct named_file) files = {0};
	int err = 0;

	for (size_t i = 0; i < f->fds.count && !err; i++) {
		const struct fact_fd *d = &f->fds.data[i];

		if (d->path)
			err = vec_push(&files, (struct named_file){d->file.key, d->time_ns,
								   d->file.dev, d->pid, (u32)i});
	}
	err = err ? err : vec_group_sort(&files, &file_order);
	f->fds_by_file.count = 0;
	err = err ? err : vec_reserve(&f->fds_by_file, files.count);
	for (size_t i = 0; i < files.count && !err; i++)
		f->fds_by_file.data[f->fds_by_file.count++] = files.data[i].index;
	vec_free(&files);
	return err;
}

void processes_sort(struct facts *f)
{
	SORT(&f->processes, process_compare);
}

int facts_sort(struct facts *f)
{
	int err = vec_group_sort(&f->bytes, &bytes_order);

	err = err ? err : vec_group_sort(&f->paths, &path_order);
	if (err)
		return err;
	SORT(&f->names, name_compare);
	SORT(&f->forks, fork_compare);
	err = births_sort(f);
	if (err)
		return err;
	processes_sort(f);
	SORT(&f->sockets, socket_compare);
	SORT(&f->services, service_compare);
	SORT(&f->clocks, clock_compare);
	SORT(&f->follows, follow_compare);
	stack_facts_sort(f);
	container_facts_sort(f);
	err = fds_sort(f);
	err = err ? err : files_index(f);
	return err ? err : peers_index(f);
}
