/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of something that has no life here, and whose end nothing tells: it is enough to
 * keep the latest. Names of threads out of scope that woke one of the recorded, and files that
 * only a slot of an io_uring holds, are told at first use, and in each chunk anew; processes before
 * their threads, of which a zombie has none, and what they mapped up to some seconds late.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/internal.h"

#define TOLD_KEPT 4096		  /* of each; as many as the kernel programs remember */
#define EXPECTED_NS 5000000000ull /* far more than lies between a process and its threads */

static int u64_compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	COMPARE(*x, *y);
	return 0;
}

u64 told_since(u64 *times, size_t count)
{
	if (count <= TOLD_KEPT)
		return 0;
	qsort(times, count, sizeof(*times), u64_compare);
	return times[count - TOLD_KEPT - 1] + 1;
}

/* ---- processes ---- */

/* It has no life, but since the last one of this number ended one may come. */
static bool is_expected(const struct living *l, u32 pid, u64 time_ns)
{
	u64 ended = (uintptr_t)map_get(&l->ended, pid); /* + 1 */

	return !map_get(&l->pids, pid) && time_ns >= ended && time_ns >= l->expected_ns;
}

bool living_may_have(const struct living *l, u32 pid, u64 time_ns)
{
	return map_get(&l->pids, pid) || is_expected(l, pid, time_ns);
}

int living_expect(struct living *l, const struct facts *f, u64 at_ns)
{
	VEC(u64) times = {0};
	u64 since_ns;
	int err = 0;

	l->expected_ns = at_ns > EXPECTED_NS ? at_ns - EXPECTED_NS : 0;
	for (size_t i = 0; i < f->processes.count && !err; i++) {
		const struct fact_process *p = &f->processes.data[i];

		if (is_expected(l, p->pid, p->time_ns))
			err = vec_push(&times, p->time_ns);
	}
	for (size_t i = 0; i < f->mappings.count && !err; i++) {
		const struct fact_mapping *m = &f->mappings.data[i];

		if (m->pid && is_expected(l, m->pid, m->since_ns))
			err = vec_push(&times, m->since_ns);
	}
	since_ns = told_since(times.data, times.count);
	if (since_ns > l->expected_ns)
		l->expected_ns = since_ns;
	vec_free(&times);
	return err;
}

/* ---- names ---- */

struct names {
	struct facts *f;
	const struct living *l;
	struct map asked; /* index + 1 of those that a wake-up is explained by */
	VEC(u64) times;	  /* of those of others */
	u64 since_ns;	  /* of these the ones that are kept */
};

static bool name_is_last(const struct facts *f, size_t i)
{
	return i + 1 == f->names.count || f->names.data[i].tid != f->names.data[i + 1].tid;
}

/* A leader that ended has a number that the thread gets which runs the next program. */
static bool name_is_of_living(const struct names *n, u32 tid)
{
	return map_get(&n->l->tids, tid) || map_get(&n->l->pids, tid);
}

/* Told by no thread that had a life: or since the one that had this number ended. */
static bool name_is_of_other(const struct names *n, const struct fact_name *name)
{
	u64 ended = (uintptr_t)map_get(&n->l->ended, name->tid); /* + 1 */

	return !name_is_of_living(n, name->tid) && name->time_ns >= ended;
}

/* Who woke one that still waits may have had another name then. */
static int names_ask(struct names *n, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life_wake *wake = &p->lives.data[i]->state.wake;
		const struct fact_name *name =
			wake->has ? query_name(p, wake->waker_tid, wake->time_ns) : NULL;

		if (name)
			err = map_put(&n->asked, (u64)(name - n->f->names.data) + 1, PRESENT);
	}
	for (size_t i = 0; i < n->f->names.count && !err; i++) {
		const struct fact_name *name = &n->f->names.data[i];

		if (name_is_last(n->f, i) && name_is_of_other(n, name))
			err = vec_push(&n->times, name->time_ns);
	}
	return err;
}

static bool name_stays(const struct names *n, size_t i)
{
	const struct fact_name *name = &n->f->names.data[i];

	if (map_get(&n->asked, i + 1))
		return true;
	if (!name_is_last(n->f, i))
		return false;
	return name_is_of_living(n, name->tid) ||
	       (name_is_of_other(n, name) && name->time_ns >= n->since_ns);
}

int names_prune(struct partial *p, const struct living *l)
{
	struct facts *f = &p->facts;
	struct names n = {.f = f, .l = l};
	int err = names_ask(&n, p);
	size_t kept = 0;

	n.since_ns = told_since(n.times.data, n.times.count);
	/* what stays moves to the left of what is still looked at, but for its neighbour's tid */
	for (size_t i = 0; i < f->names.count && !err; i++)
		if (name_stays(&n, i))
			f->names.data[kept++] = f->names.data[i];
	if (!err)
		f->names.count = kept;
	map_free(&n.asked);
	vec_free(&n.times);
	return err;
}

/* ---- files of slots ---- */

bool fd_is_slot(const struct fact_fd *d)
{
	return d->fd < 0 && d->op == FD_open && d->path;
}

static int slot_owner_compare(const struct fact_fd *x, const struct fact_fd *y)
{
	COMPARE(x->pid, y->pid);
	COMPARE(x->file.key, y->file.key);
	COMPARE(x->file.dev, y->file.dev);
	COMPARE(x->file.kind, y->file.kind);
	return 0;
}

static int slot_compare(const void *a, const void *b)
{
	const struct fact_fd *x = *(struct fact_fd *const *)a, *y = *(struct fact_fd *const *)b;
	int order = slot_owner_compare(x, y);

	if (order)
		return order;
	COMPARE(x->time_ns, y->time_ns);
	return strcmp(x->path, y->path);
}

int slots_keep(struct facts *f, const struct map *pids, struct kept_fds *to, struct map *files)
{
	VEC(struct fact_fd *) slots = {0};
	VEC(u64) times = {0};
	size_t kept = 0;
	u64 since_ns;
	int err = 0;

	for (size_t i = 0; i < f->fds.count && !err; i++) {
		struct fact_fd *d = &f->fds.data[i];

		if (fd_is_slot(d) && map_get(pids, d->pid))
			err = vec_push(&slots, d);
	}
	if (slots.count)
		qsort(slots.data, slots.count, sizeof(*slots.data), slot_compare);
	for (size_t i = 0; i < slots.count && !err; i++) { /* of each file the last */
		if (i + 1 < slots.count &&
		    slot_owner_compare(slots.data[i], slots.data[i + 1]) == 0)
			continue;
		slots.data[kept++] = slots.data[i];
		err = vec_push(&times, slots.data[i]->time_ns);
	}
	since_ns = told_since(times.data, times.count);
	for (size_t i = 0; i < kept && !err; i++) {
		struct fact_fd *d = slots.data[i];

		if (d->time_ns < since_ns)
			continue;
		err = map_put(files, d->file.key, PRESENT);
		err = err ? err : vec_push(to, *d);
	}
	vec_free(&slots);
	vec_free(&times);
	return err;
}
