/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of file descriptors: opened, duplicated, closed, found by a snapshot. */
#include "map/fact/fd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/group_sort.h"
#include "base/hash.h"
#include "base/order.h"
#include "map/fact/fds.h"
#include "map/fact/kind.h"
#include "map/fact/mounts.h"

/* A name that was cut at its begin says so, or it would look like the name of another file. */
static const char *fd_name_keep(struct texts *texts, const struct record_fd *r, u16 bytes)
{
	char name[sizeof("…") + sizeof(r->path)];
	int length;

	if (!(r->flags & FD_NAME_CUT))
		return texts_keep(texts, r->path, bytes);
	length = snprintf(name, sizeof(name), "…%.*s", (int)bytes, r->path);
	return texts_keep(texts, name, (size_t)length);
}

static int fd_add(struct facts *f, const struct record_head *head)
{
	const struct record_fd *r = (const void *)head;
	struct fact_fd fd = {.time_ns = r->head.time_ns,
			     .pid = r->head.pid,
			     .tid = r->head.tid,
			     .fd = r->fd,
			     .from = r->from,
			     .op = r->op,
			     .flags = r->flags,
			     .file = r->file};

	u16 bytes = r->path_len;

	if (bytes && r->flags & FD_MOUNTS)
		fd.mounts = mounts_take(r->path, &bytes);
	if (bytes) {
		fd.path = fd_name_keep(&f->texts, r, bytes);
		if (!fd.path)
			return -ENOMEM;
		fd.path_hash = mounts_hash(fd.path, fd.mounts);
	}
	return vec_push(&f->fds, fd);
}

static int fd_compare(const void *a, const void *b)
{
	const struct fact_fd *x = a, *y = b;

	COMPARE(x->table, y->table);
	COMPARE(x->fd, y->fd);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->op, y->op);
	COMPARE(x->from, y->from);
	COMPARE(x->tid, y->tid);
	COMPARE(x->pid, y->pid);
	COMPARE(x->flags, y->flags);
	COMPARE(x->file.key, y->file.key);
	COMPARE(x->file.dev, y->file.dev);
	COMPARE(x->file.kind, y->file.kind);
	COMPARE(x->mounts, y->mounts);
	return strcmp(x->path ? x->path : "", y->path ? y->path : "");
}

static struct group_key fd_key(const void *element)
{
	const struct fact_fd *d = element;

	return (struct group_key){d->table, (u32)d->fd ^ 1u << 31};
}

static const struct group_order fd_order = {sizeof(struct fact_fd), fd_key, fd_compare};

static int fd_index(struct facts *f)
{
	int err = fds_find_tables(f);

	err = err ? err : vec_group_sort(&f->fds, &fd_order);
	err = err ? err : fds_index_ranges(f);
	return err ? err : fd_names_index(f);
}

static void fd_archive(struct archive *a, void *fact)
{
	struct fact_fd *f = fact;

	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->tid);
	archive_s32(a, &f->fd);
	archive_s32(a, &f->from);
	archive_u8(a, &f->op);
	archive_u8(a, &f->flags);
	archive_file(a, &f->file);
	archive_shared_path(a, &f->path);
	archive_u32(a, &f->mounts);
	f->path_hash = f->path ? mounts_hash(f->path, f->mounts) : 0;
}

const struct fact_kind fact_kind_fd = {.add = fd_add,
				       .compare = fd_compare,
				       .index = fd_index,
				       .archive = fd_archive,
				       .keep = fds_keep};
