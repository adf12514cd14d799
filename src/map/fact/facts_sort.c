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

#include "map/fact/fds.h"
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

const struct thread_order bytes_order = {sizeof(struct fact_bytes),
					 offsetof(struct fact_bytes, tid),
					 offsetof(struct fact_bytes, time_ns), bytes_compare};

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

const struct thread_order path_order = {sizeof(struct fact_path), offsetof(struct fact_path, tid),
					offsetof(struct fact_path, call_ns), path_compare};

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

struct named_files { /* a VEC */
	struct named_file *data;
	size_t count, capacity;
};

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

/* A file as a process named it. */
struct file_names {
	struct named_file first;
	const char *path;
	u16 kind;
	bool several; /* names, or kinds of file with this key */
};

struct file_names_all {
	VEC(struct file_names) list;
	struct map index; /* hash of file and process -> number in list + 1 */
	size_t last;	  /* number in list of the one that was asked for last */
};

static bool is_file_of(const struct named_file *x, const struct fact_fd *d)
{
	return x->key == d->file.key && x->dev == d->file.dev && x->pid == d->pid;
}

/* That of the file and process of the fact, which is told of it first if there was none. */
static int file_names_of(struct file_names_all *all, size_t index, const struct fact_fd *d,
			 struct file_names **found)
{
	u64 h = hash_pair(d->file.key, (u64)d->file.dev << 32 | d->pid);
	struct file_names fresh = {
		.first = {d->file.key, d->time_ns, d->file.dev, d->pid, (u32)index},
		.path = d->path,
		.kind = d->file.kind};
	size_t number;
	int err;

	if (all->last < all->list.count && is_file_of(&all->list.data[all->last].first, d)) {
		*found = &all->list.data[all->last];
		return 0;
	}
	while ((number = (size_t)map_get(&all->index, h)) &&
	       !is_file_of(&all->list.data[number - 1].first, d))
		h++;
	if (!number) {
		err = vec_push(&all->list, fresh);
		err = err ? err : map_put(&all->index, h, (void *)all->list.count);
		if (err)
			return err;
		number = all->list.count;
	}
	all->last = number - 1;
	*found = &all->list.data[number - 1];
	return 0;
}

static int file_name_add(struct file_names_all *all, size_t index, const struct fact_fd *d)
{
	struct file_names *names;
	int err = file_names_of(all, index, d, &names);

	if (err)
		return err;
	if (names->kind != d->file.kind ||
	    (names->path != d->path && strcmp(names->path, d->path) != 0))
		names->several = true;
	if (d->time_ns < names->first.time_ns) {
		names->first.time_ns = d->time_ns;
		names->first.index = (u32)index;
	}
	return 0;
}

/* Of a file that had one name with a process all the time it is enough to know the first fact. */
static int files_collect(const struct facts *f, struct file_names_all *all, struct named_files *to)
{
	bool several = false;
	int err = 0;

	for (size_t i = 0; i < f->fds.count && !err; i++)
		if (f->fds.data[i].path)
			err = file_name_add(all, i, &f->fds.data[i]);
	for (size_t i = 0; i < all->list.count && !err; i++) {
		several |= all->list.data[i].several;
		if (!all->list.data[i].several)
			err = vec_push(to, all->list.data[i].first);
	}
	for (size_t i = 0; i < f->fds.count && several && !err; i++) {
		const struct fact_fd *d = &f->fds.data[i];
		struct file_names *names;

		err = d->path ? file_names_of(all, i, d, &names) : 0;
		if (!err && d->path && names->several)
			err = vec_push(to, (struct named_file){d->file.key, d->time_ns, d->file.dev,
							       d->pid, (u32)i});
	}
	return err;
}

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
	struct file_names_all all = {0};
	struct named_files files = {0};
	int err = files_collect(f, &all, &files);

	if (files.count)
		qsort(files.data, files.count, sizeof(*files.data), file_compare);
	f->fds_by_file.count = 0;
	err = err ? err : vec_reserve(&f->fds_by_file, files.count);
	for (size_t i = 0; i < files.count && !err; i++)
		f->fds_by_file.data[f->fds_by_file.count++] = files.data[i].index;
	vec_free(&files);
	vec_free(&all.list);
	map_free(&all.index);
	return err;
}

void processes_sort(struct facts *f)
{
	SORT(&f->processes, process_compare);
}

int facts_sort(struct facts *f)
{
	int err = thread_facts_sort(&f->bytes, &bytes_order);

	err = err ? err : thread_facts_sort(&f->paths, &path_order);
	if (err)
		return err;
	SORT(&f->names, name_compare);
	SORT(&f->forks, fork_compare);
	err = unseen_forks_sort(f);
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
