/* SPDX-License-Identifier: Apache-2.0 */
#include "up/reread_cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "chunk/chunk.h"
#include "up/chunk_paths.h"
#include "up/reread.h"

#define RUNS_MAX 200000

/* A run that others may join, and what of it the thread had that had it for the longest. */
struct open_run {
	struct cpu_run run;
	u64 longest_ns;
	u32 tid, pid;
};

/* What is known of a CPU after its last switch. */
struct cpu {
	u64 switch_ns; /* of CLOCK_MONOTONIC; 0: not known */
	u32 tid;       /* that has it since then; 0: idle */
	struct open_run open;
};

struct cpus_reading {
	const struct cpu_runs_query *query;
	struct cpu_runs *out;
	struct map threads; /* tid -> number of the thread + 1 */
	VEC(struct cpu) cpus;
	u64 unix_less_ns; /* Unix time less CLOCK_MONOTONIC, of the chunk */
	u64 end_ns;	  /* of the chunk before */
};

/* ---- threads ---- */

static void name_read(struct cpu_thread *thread)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", thread->tid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(thread->name, sizeof(thread->name), file))
		thread->name[strcspn(thread->name, "\n")] = '\0';
	fclose(file);
}

static int thread_number(struct cpus_reading *r, u32 tid, u32 pid, u32 *number)
{
	struct cpu_thread thread = {.tid = tid, .pid = pid};
	uintptr_t known = (uintptr_t)map_get(&r->threads, tid);
	int err = 0;

	if (!known) {
		name_read(&thread);
		err = vec_push(&r->out->threads, thread);
		known = r->out->threads.count;
		err = err ? err : map_put(&r->threads, tid, (void *)known);
	}
	*number = (u32)known - 1;
	return err;
}

/* ---- runs ---- */

static int open_end(struct cpus_reading *r, struct cpu *cpu)
{
	struct open_run *open = &cpu->open;
	int err = 0;

	if (open->run.runs) {
		err = thread_number(r, open->tid, open->pid, &open->run.thread);
		if (!err && r->out->list.count < RUNS_MAX)
			err = vec_push(&r->out->list, open->run);
	}
	*open = (struct open_run){0};
	return err;
}

/* Whether a run is so short, and so near, that it is joined with the ones before. */
static bool joins(const struct cpus_reading *r, const struct open_run *open, u64 end_ns)
{
	return open->run.runs && end_ns - open->run.begin_ns <= r->query->least_ns;
}

/* A thread had the CPU from one time to another. */
static int run_add(struct cpus_reading *r, struct cpu *cpu, const struct record_head *left,
		   u64 begin_ns, u64 end_ns)
{
	struct open_run *open = &cpu->open;
	int err = joins(r, open, end_ns) ? 0 : open_end(r, cpu);

	if (err)
		return err;
	if (!open->run.runs)
		open->run = (struct cpu_run){.begin_ns = begin_ns, .cpu = left->cpu};
	open->run.end_ns = end_ns;
	open->run.busy_ns += end_ns - begin_ns;
	open->run.runs++;
	if (end_ns - begin_ns > open->longest_ns) {
		open->longest_ns = end_ns - begin_ns;
		open->tid = left->tid;
		open->pid = left->pid;
	}
	return 0;
}

static struct cpu *cpu_of(struct cpus_reading *r, u16 number)
{
	while (r->cpus.count <= number)
		if (vec_push(&r->cpus, (struct cpu){0}))
			return NULL;
	return &r->cpus.data[number];
}

static u64 later_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* A thread leaves a CPU. Its run is known if the last record was its switch to the CPU. */
static int switch_take(struct cpus_reading *r, const struct record_switch *sw)
{
	struct cpu *cpu = cpu_of(r, sw->head.cpu);
	u64 from_ns, to_ns = sw->head.time_ns + r->unix_less_ns;
	int err = 0;

	if (!cpu)
		return -ENOMEM;
	from_ns = later_of(cpu->switch_ns + r->unix_less_ns, r->query->from_ns);
	to_ns = to_ns < r->query->to_ns ? to_ns : r->query->to_ns;
	if (cpu->switch_ns && cpu->tid == sw->head.tid && sw->head.tid && from_ns < to_ns)
		err = run_add(r, cpu, &sw->head, from_ns, to_ns);
	cpu->switch_ns = sw->head.time_ns;
	cpu->tid = sw->next_tid;
	return err;
}

/* ---- chunks ---- */

static int stream_read(struct cpus_reading *r, struct chunk_reader *reader, size_t stream,
		       struct error *e)
{
	const struct record_head *record;
	unsigned long number = strtoul(chunk_reader_stream_name(reader, stream) + 3, NULL, 10);
	int got = 0, err = 0;

	while (!err && (got = chunk_reader_stream_next(reader, stream, &record, e)) > 0) {
		if (record->kind == RECORD_switch)
			err = switch_take(r, (const struct record_switch *)record);
		else if (record->kind == RECORD_lost && number < r->cpus.count)
			r->cpus.data[number].switch_ns = 0;
	}
	return err ? err : got;
}

static int chunk_read(struct cpus_reading *r, const char *path, struct error *e)
{
	struct chunk_reader *reader;
	const struct chunk_info *info;
	int err = chunk_reader_open(&reader, path, e);

	if (err) /* it was deleted meanwhile */
		return err == -ENOMEM ? err : 0;
	info = chunk_reader_info(reader);
	for (size_t i = 0; i < r->cpus.count && info->begin_ns != r->end_ns; i++)
		r->cpus.data[i].switch_ns = 0; /* a chunk between them is gone */
	r->end_ns = info->end_ns;
	r->unix_less_ns = info->clock.unix_ns - info->clock.monotonic_ns;
	snprintf(r->out->host, sizeof(r->out->host), "%s", info->host);
	for (size_t i = 0; i < chunk_reader_streams(reader) && !err; i++) {
		if (strncmp(chunk_reader_stream_name(reader, i), "cpu", 3) == 0)
			err = stream_read(r, reader, i, e);
	}
	chunk_reader_close(reader);
	return err;
}

static int runs_compare(const void *a, const void *b)
{
	const struct cpu_run *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static int chunks_read(struct cpus_reading *r, const chunk_path_list *paths, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < paths->count && !err; i++)
		err = chunk_read(r, paths->data[i], e);
	for (size_t i = 0; i < r->cpus.count && !err; i++)
		err = open_end(r, &r->cpus.data[i]);
	if (!err && r->out->list.count)
		qsort(r->out->list.data, r->out->list.count, sizeof(*r->out->list.data),
		      runs_compare);
	return err;
}

int reread_cpus(int dir, const char *path, const struct cpu_runs_query *query, struct cpu_runs *out,
		struct error *e)
{
	const struct chunk_paths_query wanted = {dir,	       path, query->from_ns,
						 query->to_ns, 0,    REREAD_CHUNKS_MAX};
	struct cpus_reading r = {.query = query, .out = out};
	chunk_path_list paths = {0};
	int err = chunk_paths_find(&wanted, &paths, e);

	err = err ? err : chunks_read(&r, &paths, e);
	chunk_paths_free(&paths);
	map_free(&r.threads);
	vec_free(&r.cpus);
	return err;
}
