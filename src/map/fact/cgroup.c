/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups, and the containers that they are of. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/kind.h"
#include "map/partial.h"

#define CGROUPS_IDLE_MAX 1024 /* of a hierarchy, without a process, that a checkpoint keeps */

static int cgroup_add(struct facts *f, const struct record_head *head)
{
	const struct record_cgroup *r = (const void *)head;
	struct fact_cgroup g = {.id = r->id, .hierarchy = r->hierarchy, .path_bytes = r->path_len};

	container_id_find(r->path, r->path_len, g.container);
	g.path = texts_keep(&f->texts, r->path, r->path_len);
	return g.path ? vec_push(&f->cgroups, g) : -ENOMEM;
}

static int cgroup_compare(const void *a, const void *b)
{
	const struct fact_cgroup *x = a, *y = b;

	COMPARE(x->hierarchy, y->hierarchy);
	COMPARE(x->id, y->id);
	COMPARE(x->path_bytes, y->path_bytes);
	return strcmp(x->path, y->path);
}

/* Leaves each cgroup once, by its longest path: a snapshot may have cut it. */
static int cgroups_index(struct facts *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->cgroups.count; i++) {
		const struct fact_cgroup *g = &f->cgroups.data[i];

		if (n && f->cgroups.data[n - 1].id == g->id &&
		    f->cgroups.data[n - 1].hierarchy == g->hierarchy)
			n--;
		f->cgroups.data[n++] = *g;
	}
	f->cgroups.count = n;
	return 0;
}

static void cgroup_archive(struct archive *a, void *fact)
{
	struct fact_cgroup *f = fact;

	archive_u64(a, &f->id);
	archive_u32(a, &f->hierarchy);
	archive_u32(a, &f->path_bytes);
	archive_shared_path(a, &f->path);
	if (!f->path)
		archive_fail(a, -EBADMSG);
	else if (archive_reads(a))
		container_id_find(f->path, strlen(f->path), f->container);
}

/* The cgroups that a process is in. */
static int cgroups_put_used(const struct facts *f, struct bytes_map *used)
{
	int err = 0;

	for (size_t i = 0; i < f->moves.count && !err; i++) {
		const u64 key[] = {f->moves.data[i].hierarchy, f->moves.data[i].cgroup};

		err = bytes_map_put(used, key, sizeof(key), PRESENT);
	}
	return err;
}

/*
 * Nothing tells that a cgroup is gone. One that no process is in may be put to use later, but
 * hardly after many others were made: their numbers rise.
 */
static int cgroups_keep(struct partial *p, struct living *l)
{
	struct facts *f = &p->facts;
	struct bytes_map used = {0};
	size_t kept = f->cgroups.count, idle = 0;
	int err = cgroups_put_used(f, &used);

	(void)l;
	for (size_t i = f->cgroups.count; i > 0; i--) {
		struct fact_cgroup g = f->cgroups.data[i - 1];
		const u64 key[] = {g.hierarchy, g.id};

		if (i == f->cgroups.count || f->cgroups.data[i].hierarchy != g.hierarchy)
			idle = 0;
		if (bytes_map_get(&used, key, sizeof(key)) || idle++ < CGROUPS_IDLE_MAX)
			f->cgroups.data[--kept] = g;
	}
	bytes_map_free(&used);
	f->cgroups.count -= kept;
	if (f->cgroups.count)
		memmove(f->cgroups.data, f->cgroups.data + kept,
			f->cgroups.count * sizeof(*f->cgroups.data));
	return err;
}

const struct fact_kind fact_kind_cgroup = {.add = cgroup_add,
					   .compare = cgroup_compare,
					   .index = cgroups_index,
					   .archive = cgroup_archive,
					   .keep = cgroups_keep};
