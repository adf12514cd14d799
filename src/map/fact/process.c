/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/kind.h"
#include "map/fact/query.h"
#include "map/fact/tenures.h"
#include "map/partial.h"

static int process_push(struct facts *f, struct fact_process process, const char *command)
{
	int err;

	process.command = text_copy(command, process.command_bytes);
	if (!process.command)
		return -ENOMEM;
	err = vec_push(&f->processes, process);
	if (err)
		free(process.command);
	return err;
}

static int exec_add(struct facts *f, const struct record_exec *r)
{
	struct fact_process process = {.time_ns = r->head.time_ns,
				       .pid = r->head.pid,
				       .old_tid = r->old_tid,
				       .start_ns = r->start_ns,
				       .uid = USER_UNKNOWN,
				       .command_bytes = r->command_len};

	return process_push(f, process, r->command);
}

static int snapshot_add(struct facts *f, const struct record_process *r)
{
	struct fact_process process = {.time_ns = r->head.time_ns,
				       .pid = r->head.pid,
				       .parent_pid = r->parent_pid,
				       .start_ns = r->start_ns,
				       .cgroup = r->cgroup,
				       .files = r->files,
				       .snapshot = true,
				       .uid = r->uid,
				       .command_bytes = r->command_len};

	return process_push(f, process, r->command);
}

static int process_add(struct facts *f, const struct record_head *r)
{
	return r->kind == RECORD_exec ? exec_add(f, (const void *)r)
				      : snapshot_add(f, (const void *)r);
}

static int process_compare(const void *a, const void *b)
{
	const struct fact_process *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->snapshot, y->snapshot);
	COMPARE(x->parent_pid, y->parent_pid);
	COMPARE(x->old_tid, y->old_tid);
	COMPARE(x->files, y->files);
	COMPARE(x->start_ns, y->start_ns);
	COMPARE(x->cgroup, y->cgroup);
	COMPARE(x->uid, y->uid);
	COMPARE(x->command_bytes, y->command_bytes);
	return memcmp(x->command, y->command, x->command_bytes);
}

static void process_release(void *fact)
{
	free(((struct fact_process *)fact)->command);
}

static void process_archive(struct archive *a, void *fact)
{
	struct fact_process *f = fact;

	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->parent_pid);
	archive_u32(a, &f->old_tid);
	archive_u64(a, &f->start_ns);
	archive_u64(a, &f->cgroup);
	archive_u32(a, &f->files);
	archive_bool(a, &f->snapshot);
	archive_u32(a, &f->uid);
	archive_text(a, &f->command, &f->command_bytes);
	if (!f->command)
		archive_fail(a, -EBADMSG);
}

/* ---- keep ---- */

struct kept_processes { /* a VEC */
	struct fact_process *data;
	size_t count, capacity;
};

/* A process that only forked runs what its parent ran: a copy of that, as a snapshot tells it. */
static int process_inherit(const struct partial *p, u32 pid, struct kept_processes *copies)
{
	const struct fact_fork *fork = tenure_at(&p->facts, pid, p->to_ns).fork;
	const struct fact_process *by = fork ? query_process(p, pid, p->to_ns) : NULL;
	struct fact_process copy;
	int err;

	if (!by || (by->pid == pid && by->time_ns >= fork->time_ns))
		return 0;
	copy = (struct fact_process){.time_ns = fork->time_ns,
				     .pid = pid,
				     .parent_pid = fork->parent_pid,
				     .start_ns = fork->start_ns,
				     .cgroup = fork->cgroup,
				     .snapshot = true,
				     .uid = query_user(p, pid, p->to_ns),
				     .command_bytes = by->command_bytes};
	copy.command = text_copy(by->command, by->command_bytes);
	if (!copy.command)
		return -ENOMEM;
	err = vec_push(copies, copy);
	if (err)
		free(copy.command);
	return err;
}

int processes_inherit(struct partial *p, const struct map *pids)
{
	struct facts *f = &p->facts;
	struct kept_processes copies = {0};
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	while (!err && map_next(pids, &at, &entry))
		err = process_inherit(p, (u32)entry.key, &copies);
	err = err ? err : vec_move(&f->processes, &copies);
	if (f->processes.count)
		qsort(f->processes.data, f->processes.count, sizeof(*f->processes.data),
		      process_compare);
	for (size_t i = 0; i < copies.count; i++) /* they could not be kept */
		free(copies.data[i].command);
	vec_free(&copies);
	return err;
}

/* Leaves the last of each process that has its number now, as a snapshot tells it. */
static int processes_keep(struct partial *p, struct living *l)
{
	struct facts *f = &p->facts;

	/* the last of a process tells what those before it tell of the user */
	for (size_t i = 0; i < f->processes.count; i++)
		if (f->processes.data[i].uid == USER_UNKNOWN)
			f->processes.data[i].uid = query_user(p, f->processes.data[i].pid,
							      f->processes.data[i].time_ns);
	KEEP_LAST(&f->processes, e, pid,
		  living_may_have(l, e->pid, e->time_ns) &&
			  query_held_until(p, e->pid, e->time_ns) == UINT64_MAX,
		  free(e->command));
	for (size_t i = 0; i < f->processes.count; i++) {
		f->processes.data[i].snapshot = true;
		f->processes.data[i].old_tid = 0;
	}
	return 0;
}

const struct fact_kind fact_kind_process = {.add = process_add,
					    .compare = process_compare,
					    .release = process_release,
					    .archive = process_archive,
					    .keep = processes_keep};
