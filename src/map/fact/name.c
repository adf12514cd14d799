/* SPDX-License-Identifier: Apache-2.0 */
/* Names of threads. */
#include <string.h>

#include "base/order.h"
#include "map/fact/kind.h"
#include "map/fact/query.h"
#include "map/fact/tenures.h"
#include "map/partial.h"

static int name_push(struct facts *f, const struct record_head *r, u64 start_ns, const char *comm,
		     size_t len)
{
	struct fact_name name = {
		.time_ns = r->time_ns, .tid = r->tid, .pid = r->pid, .start_ns = start_ns};

	name.weak = r->kind == RECORD_thread || r->kind == RECORD_process;
	len = strnlen(comm, len < sizeof(name.comm) ? len : sizeof(name.comm) - 1);
	memcpy(name.comm, comm, len);
	return vec_push(&f->names, name);
}

/* The leader of a process that had other threads may be older than its exec says. */
static int exec_name_add(struct facts *f, const struct record_exec *r)
{
	u64 start_ns = r->flags & EXEC_BEGINS ? r->start_ns : 0;

	return name_push(f, &r->head, start_ns, r->command, r->command_len);
}

static int name_add(struct facts *f, const struct record_head *r)
{
	const struct record_fork *fork = (const void *)r;
	const struct record_process *process = (const void *)r;
	const struct record_thread *thread = (const void *)r;
	const struct record_name *name = (const void *)r;

	switch (r->kind) {
	case RECORD_fork:
		return name_push(f, r, fork->start_ns, fork->comm, fork->comm_len);
	case RECORD_exec:
		return exec_name_add(f, (const void *)r);
	case RECORD_process:
		return name_push(f, r, process->start_ns, process->command, process->command_len);
	case RECORD_thread:
		return name_push(f, r, thread->start_ns, thread->comm, thread->comm_len);
	default:
		return name_push(f, r, 0, name->comm, name->comm_len);
	}
}

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

static void name_archive(struct archive *a, void *fact)
{
	struct fact_name *f = fact;

	archive_time(a, &f->time_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_bool(a, &f->weak);
	archive_u64(a, &f->start_ns);
	archive_bytes(a, f->comm, sizeof(f->comm));
	f->comm[sizeof(f->comm) - 1] = '\0';
}

/* ---- keep ---- */

struct names {
	struct facts *f;
	const struct living *l;
	struct map asked; /* index + 1 of those that a wake-up is explained by */
	VEC(u64) times;	  /* of the last names of threads that had no life */
	u64 since_ns;	  /* the earliest of these times that is kept */
};

static bool name_is_last(const struct facts *f, size_t i)
{
	return i + 1 == f->names.count || f->names.data[i].tid != f->names.data[i + 1].tid;
}

/* The thread that runs the next program gets the number of a leader that ended. */
static bool name_is_of_living(const struct names *n, u32 tid)
{
	return map_get(&n->l->tids, tid) || map_get(&n->l->pids, tid);
}

/* The thread had no life here, or it has the number since the last life with it ended. */
static bool name_is_of_other(const struct names *n, const struct fact_name *name)
{
	u64 ended = (uintptr_t)map_get(&n->l->ended, name->tid); /* + 1 */

	return !name_is_of_living(n, name->tid) && name->time_ns >= ended;
}

/* The waker of a thread that still waits may have had another name when it woke it. */
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

/*
 * Leaves the last names of threads and processes that go on, of those that woke one of them that
 * still waits, and the latest of threads that had no life here.
 */
static int names_keep(struct partial *p, struct living *l)
{
	struct facts *f = &p->facts;
	struct names n = {.f = f, .l = l};
	int err = names_ask(&n, p);
	size_t kept = 0;

	n.since_ns = told_since(n.times.data, n.times.count);
	/* a name that stays moves to the left of those still looked at, but for a neighbour's tid
	 */
	for (size_t i = 0; i < f->names.count && !err; i++)
		if (name_stays(&n, i))
			f->names.data[kept++] = f->names.data[i];
	if (!err)
		f->names.count = kept;
	map_free(&n.asked);
	vec_free(&n.times);
	return err;
}

const struct fact_kind fact_kind_name = {.add = name_add,
					 .compare = name_compare,
					 .index = tenures_find,
					 .archive = name_archive,
					 .keep = names_keep};
