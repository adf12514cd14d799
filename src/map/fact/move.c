/* SPDX-License-Identifier: Apache-2.0 */
/* Moves of processes to cgroups. */
#include <stdlib.h>

#include "base/order.h"
#include "map/fact/containers.h"
#include "map/fact/kind.h"
#include "map/partial.h"

static int move_add(struct facts *f, const struct record_head *r)
{
	const struct record_process *found = (const void *)r;
	const struct record_cgroup_attach *attach = (const void *)r;
	struct fact_move move = {.time_ns = r->time_ns, .pid = r->pid};

	if (r->kind == RECORD_process) {
		move.cgroup = found->cgroup;
		move.found = true;
		return found->cgroup ? vec_push(&f->moves, move) : 0;
	}
	if (r->tid != r->pid) /* its leader stands for a process */
		return 0;
	move.cgroup = attach->cgroup;
	move.hierarchy = attach->hierarchy;
	move.found = attach->flags & CGROUP_FOUND;
	return vec_push(&f->moves, move);
}

static int move_compare(const void *a, const void *b)
{
	const struct fact_move *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->hierarchy, y->hierarchy);
	COMPARE(x->cgroup, y->cgroup);
	return (int)x->found - (int)y->found;
}

static void move_archive(struct archive *a, void *fact)
{
	struct fact_move *f = fact;

	archive_time(a, &f->time_ns);
	archive_u64(a, &f->cgroup);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->hierarchy);
	archive_bool(a, &f->found);
}

/* Adds where the process is at that time, as a snapshot tells it. */
static int places_keep(const struct facts *f, u32 pid, u64 at_ns, struct places *kept)
{
	struct places places = {0};
	int err = places_find(f, pid, at_ns, &places);

	for (size_t i = 0; i < places.list.count && !err; i++) {
		struct fact_move m = places.list.data[i];

		m.time_ns = at_ns ? at_ns - 1 : 0; /* before what comes at that time */
		m.pid = pid;
		m.found = true;
		err = vec_push(&kept->list, m);
	}
	vec_free(&places.list);
	return err;
}

/* The process was told, but none of its threads yet. */
static bool is_to_come(const struct facts *f, const struct living *l, size_t i)
{
	const struct fact_process *p = &f->processes.data[i];

	return (i + 1 == f->processes.count || p->pid != p[1].pid) && !map_get(&l->pids, p->pid) &&
	       living_may_have(l, p->pid, p->time_ns);
}

/* Leaves where processes are that live, or may. */
static int moves_keep(struct partial *p, struct living *l)
{
	struct facts *f = &p->facts;
	struct places kept = {0};
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	while (!err && map_next(&l->pids, &at, &entry))
		err = places_keep(f, (u32)entry.key, p->to_ns, &kept);
	for (size_t i = 0; i < f->processes.count && !err; i++)
		if (is_to_come(f, l, i))
			err = places_keep(f, f->processes.data[i].pid, p->to_ns, &kept);
	f->moves.count = 0;
	err = err ? err : vec_move(&f->moves, &kept.list);
	vec_free(&kept.list);
	if (f->moves.count)
		qsort(f->moves.data, f->moves.count, sizeof(*f->moves.data), move_compare);
	return err;
}

const struct fact_kind fact_kind_move = {
	.add = move_add, .compare = move_compare, .archive = move_archive, .keep = moves_keep};
