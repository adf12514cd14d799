// SPDX-License-Identifier: Apache-2.0
/*
 * Snapshots: the processes, threads, open files and cgroups that exist when a recording begins. The
 * first one is taken after all programs are attached. A thread that is made meanwhile is seen by
 * the program for forks; all others are in the kernel's list of tasks.
 */
#include <errno.h>

#include <bpf/libbpf.h>

#include "capture/deliver.h"
#include "capture/internal.h"
#include "capture/kernel/devices.h"
#include "capture/scope/scope.h"
#include "programs.skel.h"

#define SNAPSHOT_RUNS 16 /* passes over all threads, until one finds no new thread */

/* Runs the iterator over all threads until a run finds no new thread. */
static int threads_look(struct capture *c, struct capture_delivery *to)
{
	struct programs *p = c->programs;
	int err = 0;

	for (int run = 0; run < SNAPSHOT_RUNS && !err; run++) {
		p->bss->snapshot_new = 0;
		err = capture_iterator_run(c, &to->sink, p->progs.snapshot_tasks, 0);
		if (!err)
			err = capture_drain(c, to);
		if (p->bss->snapshot_new == 0)
			break;
	}
	bounded_reader_end(&c->commands);
	return err;
}

/*
 * Tells the open files of a process that moved into scope. `number` is its number in our pid
 * namespace.
 */
static int moved_files(struct capture *c, struct capture_delivery *to, u32 number)
{
	int err;

	if (!number) { /* the iterator knows processes only by that number */
		c->counts.incomplete++;
		return 0;
	}
	err = capture_iterator_run(c, &to->sink, c->programs->progs.snapshot_files, number);
	return err == -ESRCH || err == -ENOENT ? 0 : err; /* the process is gone */
}

int capture_snapshot_moves(struct capture *c, struct capture_delivery *to)
{
	u64 moves = __atomic_load_n(&c->programs->bss->scope_moves, __ATOMIC_ACQUIRE);
	int err;

	if (moves == c->moves)
		return 0;
	c->moves = moves;
	c->programs->bss->snapshot_enters = 1;
	c->moving = true;
	err = threads_look(c, to);
	c->moving = false;
	for (size_t i = 0; i < c->moved.count && !err && c->files; i++)
		err = moved_files(c, to, c->moved.data[i]);
	vec_free(&c->moved);
	return err;
}

int capture_snapshot_scope(struct capture *c, struct error *e)
{
	int err = c->programs->rodata->scope_host
			  ? 0 /* all threads are in scope */
			  : capture_scope_iterate(c, c->programs->progs.snapshot_tasks);

	return err ? error_set(e, err, "cannot take a snapshot of threads") : 0;
}

int capture_snapshot(struct capture *c, struct capture_delivery *to, struct error *e)
{
	const struct capture_sink *sink = &to->sink;
	struct programs *p = c->programs;
	int err = capture_scope_iterate(c, p->progs.snapshot_clients);

	err = err ? err : threads_look(c, to);
	if (!err) {
		capture_hidden_count(c);
		capture_scope_settled(c);
		err = capture_hidden_tell(c, sink);
	}
	if (!err)
		err = capture_snapshot_cgroups(c, sink);
	if (!err)
		err = capture_devices_tell(sink);
	if (!err && c->files)
		err = capture_iterator_run(c, sink, p->progs.snapshot_files, 0);
	c->inherited_known = true;
	return err ? error_set(e, err, "cannot take a snapshot of threads") : 0;
}

int capture_look(struct capture *c, const struct capture_sink *caller, struct error *e)
{
	struct programs *p = c->programs;
	struct capture_delivery to;
	const struct capture_sink *sink = &to.sink;
	int err;

	capture_delivery_make(&to, c, caller);
	p->bss->snapshot_again = 1;
	map_free(&c->shown);
	err = capture_iterator_run(c, sink, p->progs.snapshot_tasks, 0);
	bounded_reader_end(&c->commands);
	p->bss->snapshot_again = 0;
	if (!err)
		err = capture_hidden_tell(c, sink);
	if (!err)
		err = capture_snapshot_cgroups(c, sink);
	if (!err)
		err = capture_devices_tell(sink);
	if (!err && c->files)
		err = capture_iterator_run(c, sink, p->progs.snapshot_files, 0);
	return err ? error_set(e, err, "cannot take a snapshot of threads") : 0;
}
