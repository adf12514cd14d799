/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are open when a checkpoint is made: the tables of descriptors of who goes on, as a
 * snapshot would tell them, and files that only slots of io_urings hold.
 */
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/fd.h"
#include "map/fact/fds.h"
#include "map/fact/living.h"
#include "map/partial.h"

struct kept_fds { /* a VEC */
	struct fact_fd *data;
	size_t count, capacity;
};

/* ---- files of slots ---- */

/* Whether the file is in a slot of an io_uring: no descriptor has it. */
static bool fd_is_slot(const struct fact_fd *d)
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

/*
 * Adds to `to` the files in slots that processes told, each once and only the latest, and their
 * keys to living.files. 0 or -ENOMEM.
 */
static int slots_keep(struct facts *f, struct living *l, struct kept_fds *to)
{
	VEC(struct fact_fd *) slots = {0};
	VEC(u64) times = {0};
	size_t kept = 0;
	u64 since_ns;
	int err = 0;

	for (size_t i = 0; i < f->fds.count && !err; i++) {
		struct fact_fd *d = &f->fds.data[i];

		if (fd_is_slot(d) && map_get(&l->pids, d->pid))
			err = vec_push(&slots, d);
	}
	if (slots.count)
		qsort(slots.data, slots.count, sizeof(*slots.data), slot_compare);
	for (size_t i = 0; i < slots.count && !err; i++) { /* the last fact of each file */
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
		err = map_put(&l->files, d->file.key, PRESENT);
		err = err ? err : vec_push(to, *d);
	}
	vec_free(&slots);
	vec_free(&times);
	return err;
}

/* ---- tables ---- */

/*
 * Tables of descriptors, as a snapshot at the end of the partial would tell them: each once, by a
 * thread that has it, and which processes share one.
 */
struct tables {
	const struct partial *p;
	struct living *living;
	struct map told;     /* table -> the lowest pid that has it */
	struct kept_fds fds; /* of all of them */
	bool own;	     /* the table in hand is not the one of its process */
};

static int fd_keep(void *arg, const struct fd_question *q, const struct fd_found *found)
{
	struct tables *t = arg;
	const struct fact_fd *of = fds_origin(&t->p->facts, q);
	struct fact_fd fd = {.time_ns = t->p->to_ns,
			     .pid = q->pid,
			     .tid = q->tid,
			     .fd = q->fd,
			     .from = -1,
			     .op = FD_snapshot,
			     .file = found->fact->file};
	int err;

	if (q->fd < 0) /* slots_keep() */
		return 0;
	if (found->cloexec)
		fd.flags |= FD_CLOEXEC_SET;
	if (t->own)
		fd.flags |= FD_OWN_TABLE;
	if (of && !fd.file.kind)
		fd.file = of->file;
	if (of && of->path) {
		fd.flags |= of->flags & FD_NAME_CUT;
		fd.path = of->path;
		fd.path_hash = of->path_hash;
		fd.mounts = of->mounts;
	}
	err = vec_push(&t->fds, fd);
	return err ? err : map_put(&t->living->files, fd.file.key, PRESENT);
}

/* By number of the process, so that the lowest one tells a table. */
static int life_order(const void *a, const void *b)
{
	const struct life *x = *(struct life *const *)a, *y = *(struct life *const *)b;

	COMPARE(x->pid, y->pid);
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int table_keep(struct tables *t, const struct life *l)
{
	const struct facts *f = &t->p->facts;
	struct fd_question who = {.tid = l->tid, .pid = l->pid, .time_ns = t->p->to_ns};
	u64 table = fds_table(f, l->tid, l->pid, t->p->to_ns);
	int err;

	if (!l->pid || map_get(&t->told, table))
		return 0;
	err = map_put(&t->told, table, (void *)(uintptr_t)l->pid);
	t->own = table != fds_table(f, l->pid, l->pid, t->p->to_ns);
	return err ? err : fds_each(f, &who, fd_keep, t);
}

/* Notes in each process with whom it shares its table, as a snapshot does. */
static void processes_share(const struct tables *t, struct facts *f)
{
	for (size_t i = 0; i < f->processes.count; i++) {
		struct fact_process *p = &f->processes.data[i];
		u64 table = fds_table(f, p->pid, p->pid, t->p->to_ns);

		p->files = (u32)(uintptr_t)map_get(&t->told, table);
	}
}

int fds_keep(struct partial *p, struct living *living)
{
	struct tables t = {.p = p, .living = living};
	struct facts *f = &p->facts;
	int err = 0;

	if (p->lives.count)
		qsort(p->lives.data, p->lives.count, sizeof(*p->lives.data), life_order);
	for (size_t i = 0; i < p->lives.count && !err; i++)
		err = table_keep(&t, p->lives.data[i]);
	if (!err)
		err = slots_keep(f, living, &t.fds);
	processes_share(&t, f);
	f->fds.count = 0;
	err = err ? err : vec_move(&f->fds, &t.fds);
	vec_free(&t.fds);
	map_free(&t.told);
	return err;
}
