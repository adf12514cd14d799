/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording has of the bursts of a program, and where it says that records were lost:
 * `soak-account RECORDING PID LOG`. Each line of LOG is a burst: before and after it by the
 * monotonic clock, and how many calls of getpgrp() it had. Prints
 *
 *   burst BEFORE AFTER CALLS RECORDED
 *   lost BEGIN END COUNT WHY KIND CPU    COUNT 0: the next of its kind on the CPU counts these, too
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "chunk/chunk.h"
#include "record/syscalls.h"

struct burst {
	u64 before_ns, after_ns, calls, recorded;
};

struct account {
	u32 pid;
	VEC(struct burst) bursts; /* in the order of time */
};

static int bursts_read(struct account *a, const char *path)
{
	FILE *log = fopen(path, "re");
	struct burst burst = {0};
	int err = log ? 0 : -1;

	while (!err && fscanf(log, "%" SCNu64 " %" SCNu64 " %" SCNu64, &burst.before_ns,
			      &burst.after_ns, &burst.calls) == 3)
		err = vec_push(&a->bursts, burst);
	if (log)
		fclose(log);
	return err;
}

static void call_count(struct account *a, u64 time_ns)
{
	size_t first = 0, end = a->bursts.count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (a->bursts.data[middle].after_ns < time_ns)
			first = middle + 1;
		else
			end = middle;
	}
	if (first < a->bursts.count && a->bursts.data[first].before_ns <= time_ns)
		a->bursts.data[first].recorded++;
}

static void record_account(struct account *a, const struct record_head *r)
{
	const struct record_lost *lost = (const void *)r;
	const struct record_syscall *call = (const void *)r;

	if (r->kind == RECORD_syscall && r->pid == a->pid && call->nr == SYSCALL_NR_getpgrp)
		call_count(a, r->time_ns);
	else if (r->kind == RECORD_lost && lost->count != LOST_BEGINS)
		printf("lost %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %u\n", (u64)lost->begin_ns,
		       (u64)r->time_ns, (u64)lost->count, lost->why, lost->lost_kind, r->cpu);
}

static int chunk_account(struct account *a, const char *path, struct error *e)
{
	struct chunk_reader *reader = NULL;
	const struct record_head *r;
	int err = chunk_reader_open(&reader, path, e);

	while (!err && (err = chunk_reader_next(reader, &r, e)) > 0) {
		record_account(a, r);
		err = 0;
	}
	chunk_reader_close(reader);
	return err;
}

int main(int argc, char **argv)
{
	struct account a = {0};
	struct recording *recording = NULL;
	const char *dirs[1];
	struct error e = {0};
	int err;

	if (argc != 4)
		return 2;
	dirs[0] = argv[1];
	a.pid = (u32)strtoul(argv[2], NULL, 10);
	err = bursts_read(&a, argv[3]);
	if (err)
		error_say(&e, 0, "cannot read %s", argv[3]);
	if (!err)
		err = recording_open(&recording, dirs, 1, NULL, &e);
	for (size_t i = 0; !err && i < recording_info(recording)->chunk_count; i++)
		err = chunk_account(&a, recording_info(recording)->chunks[i].path, &e);
	for (size_t i = 0; !err && i < a.bursts.count; i++)
		printf("burst %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		       a.bursts.data[i].before_ns, a.bursts.data[i].after_ns,
		       a.bursts.data[i].calls, a.bursts.data[i].recorded);
	if (err)
		fprintf(stderr, "%s\n", e.text);
	recording_close(recording);
	vec_free(&a.bursts);
	return err ? 1 : 0;
}
