/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers of processes. A process is where it was put last, in each
 * hierarchy; until it was, where a snapshot found it later, else where its
 * parent was when it was made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/fact/query.h"
#include "map/internal.h"

#define ANCESTORS_MAX 4096    /* of a process that are looked at */
#define CGROUPS_IDLE_MAX 1024 /* of a hierarchy, without a process, that a checkpoint keeps */

int cgroup_fact_add(struct facts *f, const struct record_cgroup *r)
{
	struct fact_cgroup g = {.id = r->id, .hierarchy = r->hierarchy, .path_bytes = r->path_len};

	return container_id_find(r->path, r->path_len, g.container) ? vec_push(&f->cgroups, g) : 0;
}

int move_fact_add(struct facts *f, struct fact_move move)
{
	return vec_push(&f->moves, move);
}

static int cgroup_compare(const void *a, const void *b)
{
	const struct fact_cgroup *x = a, *y = b;

	COMPARE(x->hierarchy, y->hierarchy);
	COMPARE(x->id, y->id);
	COMPARE(x->path_bytes, y->path_bytes);
	return strcmp(x->container, y->container);
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

/* Each cgroup is left once, by its longest path: a snapshot can have cut it. */
void container_facts_sort(struct facts *f)
{
	size_t n = 0;

	if (f->moves.count)
		qsort(f->moves.data, f->moves.count, sizeof(*f->moves.data), move_compare);
	if (f->cgroups.count)
		qsort(f->cgroups.data, f->cgroups.count, sizeof(*f->cgroups.data), cgroup_compare);
	for (size_t i = 0; i < f->cgroups.count; i++) {
		const struct fact_cgroup *g = &f->cgroups.data[i];

		if (n && f->cgroups.data[n - 1].id == g->id &&
		    f->cgroups.data[n - 1].hierarchy == g->hierarchy)
			n--;
		f->cgroups.data[n++] = *g;
	}
	f->cgroups.count = n;
}

/* ---- where a process is ---- */

struct places {
	VEC(struct fact_move) list; /* one per hierarchy */
};

/* What is said of a hierarchy first holds. */
static int place_add(struct places *places, u32 hierarchy, u64 cgroup)
{
	for (size_t i = 0; i < places->list.count; i++)
		if (places->list.data[i].hierarchy == hierarchy)
			return 0;
	return vec_push(&places->list,
			(struct fact_move){.hierarchy = hierarchy, .cgroup = cgroup});
}

/* What was said of the process itself, from its unseen_fork to that time, the last first. */
static int places_own(const struct facts *f, u32 pid, const struct fact_fork *fork, u64 time_ns,
		      struct places *places)
{
	u64 from_ns = fork ? fork->time_ns : unseen_forks_last(f, pid, time_ns);
	u64 until_ns = unseen_forks_next(f, pid, time_ns);
	const struct fact_move *list = f->moves.data;
	size_t n = COUNT_BEFORE(&f->moves, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));
	int err = 0;

	for (size_t i = n; i > 0 && !err; i--) {
		if (list[i - 1].pid != pid || list[i - 1].time_ns < from_ns)
			break;
		err = place_add(places, list[i - 1].hierarchy, list[i - 1].cgroup);
	}
	if (fork) /* its unseen_fork is known: no snapshot need tell */
		return err;
	for (; n < f->moves.count && list[n].pid == pid && list[n].found && !err; n++) {
		if (list[n].time_ns >= until_ns)
			break;
		err = place_add(places, list[n].hierarchy, list[n].cgroup);
	}
	return err;
}

static int places_find(const struct facts *f, u32 pid, u64 time_ns, struct places *places)
{
	int err = 0;

	for (int i = 0; i < ANCESTORS_MAX && !err; i++) {
		const struct fact_fork *fork = facts_fork(f, pid, time_ns);

		err = places_own(f, pid, fork, time_ns, places);
		if (!fork)
			break;
		if (!err && fork->cgroup)
			err = place_add(places, 0, fork->cgroup);
		if (fork->parent_pid == pid)
			break;
		pid = fork->parent_pid;
		time_ns = fork->time_ns;
	}
	return err;
}

static const struct fact_cgroup *cgroup_of(const struct facts *f, u32 hierarchy, u64 id)
{
	size_t n = COUNT_BEFORE(&f->cgroups, e,
				e->hierarchy < hierarchy ||
					(e->hierarchy == hierarchy && e->id < id));

	if (n == f->cgroups.count || f->cgroups.data[n].hierarchy != hierarchy ||
	    f->cgroups.data[n].id != id)
		return NULL;
	return &f->cgroups.data[n];
}

const char *query_container(const struct partial *p, u32 pid, u64 time_ns)
{
	const struct fact_cgroup *best = NULL;
	struct places places = {0};

	if (!p->facts.cgroups.count || places_find(&p->facts, pid, time_ns, &places)) {
		vec_free(&places.list);
		return NULL;
	}
	for (size_t i = 0; i < places.list.count; i++) {
		const struct fact_move *m = &places.list.data[i];
		const struct fact_cgroup *g = cgroup_of(&p->facts, m->hierarchy, m->cgroup);

		if (g && (!best || g->path_bytes > best->path_bytes ||
			  (g->path_bytes == best->path_bytes && g->hierarchy < best->hierarchy)))
			best = g;
	}
	vec_free(&places.list);
	return best ? best->container : NULL;
}

/* ---- what of it still holds ---- */

/* As a snapshot tells it. */
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

static int move_by_cgroup(const void *a, const void *b)
{
	const struct fact_move *x = a, *y = b;

	COMPARE(x->hierarchy, y->hierarchy);
	COMPARE(x->cgroup, y->cgroup);
	return 0;
}

/*
 * Nothing tells that a cgroup is gone. One that nobody is in may be put to use later, but
 * hardly after many others were made: their numbers rise.
 */
static void cgroups_prune(struct facts *f)
{
	size_t kept = f->cgroups.count, idle = 0;

	if (kept == 0)
		return;
	if (f->moves.count)
		qsort(f->moves.data, f->moves.count, sizeof(*f->moves.data), move_by_cgroup);
	for (size_t i = f->cgroups.count; i > 0; i--) {
		struct fact_cgroup g = f->cgroups.data[i - 1];
		const struct fact_move of = {.hierarchy = g.hierarchy, .cgroup = g.id};

		if (i == f->cgroups.count || f->cgroups.data[i].hierarchy != g.hierarchy)
			idle = 0;
		if ((f->moves.count &&
		     bsearch(&of, f->moves.data, f->moves.count, sizeof(of), move_by_cgroup)) ||
		    idle++ < CGROUPS_IDLE_MAX)
			f->cgroups.data[--kept] = g;
	}
	f->cgroups.count -= kept;
	memmove(f->cgroups.data, f->cgroups.data + kept,
		f->cgroups.count * sizeof(*f->cgroups.data));
	if (f->moves.count)
		qsort(f->moves.data, f->moves.count, sizeof(*f->moves.data), move_compare);
}

/* It was told, but none of its threads yet. */
static bool is_to_come(const struct facts *f, const struct living *l, size_t i)
{
	const struct fact_process *p = &f->processes.data[i];

	return (i + 1 == f->processes.count || p->pid != p[1].pid) && !map_get(&l->pids, p->pid) &&
	       living_may_have(l, p->pid, p->time_ns);
}

int container_facts_prune(struct facts *f, const struct living *l, u64 at_ns)
{
	struct places kept = {0};
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	while (!err && map_next(&l->pids, &at, &entry))
		err = places_keep(f, (u32)entry.key, at_ns, &kept);
	for (size_t i = 0; i < f->processes.count && !err; i++)
		if (is_to_come(f, l, i))
			err = places_keep(f, f->processes.data[i].pid, at_ns, &kept);
	vec_free(&f->moves);
	f->moves.data = kept.list.data;
	f->moves.count = kept.list.count;
	f->moves.capacity = kept.list.capacity;
	container_facts_sort(f);
	cgroups_prune(f);
	return err;
}
