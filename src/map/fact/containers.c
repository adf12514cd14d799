/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers of processes. A process is where it was put last, in each
 * hierarchy; until it was, where a snapshot found it later, else where its
 * parent was when it was made.
 */
#include "map/fact/containers.h"

#include "base/order.h"
#include "map/fact/query.h"
#include "map/fact/tenures.h"
#include "map/partial.h"

#define ANCESTORS_MAX 4096 /* of a process that are looked at */

/* The first cgroup that is found for a hierarchy holds. */
static int place_add(struct places *places, u32 hierarchy, u64 cgroup)
{
	for (size_t i = 0; i < places->list.count; i++)
		if (places->list.data[i].hierarchy == hierarchy)
			return 0;
	return vec_push(&places->list,
			(struct fact_move){.hierarchy = hierarchy, .cgroup = cgroup});
}

/* Adds what was told of the process itself since its birth, the last that was told first. */
static int places_own(const struct facts *f, u32 pid, const struct tenure *tenure, u64 time_ns,
		      struct places *places)
{
	const struct fact_move *list = f->moves.data;
	size_t n = COUNT_BEFORE(&f->moves, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));
	int err = 0;

	for (size_t i = n; i > 0 && !err; i--) {
		if (list[i - 1].pid != pid || list[i - 1].time_ns < tenure->from_ns)
			break;
		err = place_add(places, list[i - 1].hierarchy, list[i - 1].cgroup);
	}
	if (tenure->fork) /* its birth is known: no later snapshot need tell */
		return err;
	for (; n < f->moves.count && list[n].pid == pid && list[n].found && !err; n++) {
		if (list[n].time_ns >= tenure->until_ns)
			break;
		err = place_add(places, list[n].hierarchy, list[n].cgroup);
	}
	return err;
}

int places_find(const struct facts *f, u32 pid, u64 time_ns, struct places *places)
{
	int err = 0;

	for (int i = 0; i < ANCESTORS_MAX && !err; i++) {
		struct tenure tenure = tenure_at(f, pid, time_ns);
		const struct fact_fork *fork = tenure.fork;

		err = places_own(f, pid, &tenure, time_ns, places);
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

/* Of the cgroups that the process is in then, that with the longest path; NULL: none is known. */
static const struct fact_cgroup *cgroup_longest(const struct partial *p, u32 pid, u64 time_ns,
						bool of_container)
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

		if (!g || (of_container && !g->container[0]))
			continue;
		if (!best || g->path_bytes > best->path_bytes ||
		    (g->path_bytes == best->path_bytes && g->hierarchy < best->hierarchy))
			best = g;
	}
	vec_free(&places.list);
	return best;
}

const char *query_container(const struct partial *p, u32 pid, u64 time_ns)
{
	const struct fact_cgroup *g = cgroup_longest(p, pid, time_ns, true);

	return g ? g->container : NULL;
}

const char *query_cgroup(const struct partial *p, u32 pid, u64 time_ns)
{
	const struct fact_cgroup *g = cgroup_longest(p, pid, time_ns, false);

	return g ? g->path : NULL;
}
