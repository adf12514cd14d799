/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files by the file, as descriptors told them. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/order.h"
#include "map/fact/fd.h"

/* fds_by_file is sorted by this. */
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

/* Finds the entry of the file and process of the fact; the first fact makes it. 0 or -ENOMEM. */
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

/* If a file has had one name in a process all the time, one fact is enough. */
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

int fd_names_index(struct facts *f)
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
