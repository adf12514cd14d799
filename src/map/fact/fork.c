/* SPDX-License-Identifier: Apache-2.0 */
/* Forks: how threads and processes were made. */
#include "base/order.h"
#include "map/fact/kind.h"
#include "map/partial.h"

static int fork_add(struct facts *f, const struct record_head *head)
{
	const struct record_fork *r = (const void *)head;
	struct fact_fork fork = {.time_ns = r->head.time_ns,
				 .tid = r->head.tid,
				 .pid = r->head.pid,
				 .parent_tid = r->parent_tid,
				 .parent_pid = r->parent_pid,
				 .flags = r->flags,
				 .start_ns = r->start_ns,
				 .cgroup = r->cgroup};

	return vec_push(&f->forks, fork);
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

/* A checkpoint has forks only while the uneven cut at its end is open. */
static void fork_archive(struct archive *a, void *fact)
{
	struct fact_fork *f = fact;

	archive_time(a, &f->time_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->parent_tid);
	archive_u32(a, &f->parent_pid);
	archive_u32(a, &f->flags);
	archive_u64(a, &f->start_ns);
	archive_u64(a, &f->cgroup);
}

/* The other kinds have kept what a fork passes on: files, cgroups, the program. */
static int forks_keep(struct partial *p, struct living *l)
{
	(void)l;
	p->facts.forks.count = 0;
	return 0;
}

const struct fact_kind fact_kind_fork = {
	.add = fork_add, .compare = fork_compare, .archive = fork_archive, .keep = forks_keep};
