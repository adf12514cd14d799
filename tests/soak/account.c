/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording has of the calls that programs have counted themselves, what it must have and
 * has not, and where it says that records were lost: `soak-account RECORDING [CPU PID LOG]...`.
 * Each line of a LOG is before and after it by the monotonic clock, and how many calls of
 * getpgrp() the program made in between, on that CPU. Prints
 *
 *   calls BEFORE AFTER CALLS RECORDED CPU PID
 *   lost BEGIN END COUNT WHY KIND CPU    COUNT 0: the next of its kind on the CPU counts these, too
 *   doubt BEGIN END                      some streams have ended, and some records came late
 *
 * and what chains.h says.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "chains.h"
#include "record/syscalls.h"

struct burst {
	u64 before_ns, after_ns, calls, recorded;
};

struct program {
	u32 cpu, pid;
	VEC(struct burst) bursts; /* in the order of time */
};

struct account {
	VEC(struct program) programs;
	struct chains *chains;
};

static int bursts_read(struct program *p, const char *path)
{
	FILE *log = fopen(path, "re");
	struct burst burst = {0};
	int err = log ? 0 : -1;

	while (!err && fscanf(log, "%" SCNu64 " %" SCNu64 " %" SCNu64, &burst.before_ns,
			      &burst.after_ns, &burst.calls) == 3)
		err = vec_push(&p->bursts, burst);
	if (log)
		fclose(log);
	return err;
}

static void call_count(struct program *p, u64 time_ns)
{
	size_t first = 0, end = p->bursts.count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (p->bursts.data[middle].after_ns < time_ns)
			first = middle + 1;
		else
			end = middle;
	}
	if (first < p->bursts.count && p->bursts.data[first].before_ns <= time_ns)
		p->bursts.data[first].recorded++;
}

static void record_account(struct account *a, const struct record_head *r)
{
	const struct record_lost *lost = (const void *)r;
	const struct record_syscall *call = (const void *)r;

	if (r->kind == RECORD_syscall && call->nr == SYSCALL_NR_getpgrp) {
		for (size_t i = 0; i < a->programs.count; i++)
			if (a->programs.data[i].pid == r->pid)
				call_count(&a->programs.data[i], r->time_ns);
	} else if (r->kind == RECORD_lost && lost->count != LOST_BEGINS) {
		printf("lost %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %u\n", (u64)lost->begin_ns,
		       (u64)r->time_ns, (u64)lost->count, lost->why, lost->lost_kind, r->cpu);
	}
}

static int chunk_account(struct account *a, const struct chunk_info *info, struct error *e)
{
	struct chunk_reader *reader = NULL;
	const struct record_head *r;
	int err = chunk_reader_open(&reader, info->path, e);

	chains_chunk(a->chains, info);
	if (info->late_ns < info->begin_ns)
		printf("doubt %" PRIu64 " %" PRIu64 "\n", info->late_ns, info->begin_ns);
	while (!err && (err = chunk_reader_next(reader, &r, e)) > 0) {
		record_account(a, r);
		chains_record(a->chains, r);
		err = 0;
	}
	chunk_reader_close(reader);
	return err;
}

static void account_print(const struct account *a)
{
	for (size_t i = 0; i < a->programs.count; i++) {
		const struct program *p = &a->programs.data[i];

		for (size_t j = 0; j < p->bursts.count; j++) {
			const struct burst *b = &p->bursts.data[j];

			printf("calls %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u\n",
			       b->before_ns, b->after_ns, b->calls, b->recorded, p->cpu, p->pid);
		}
	}
	chains_print(a->chains);
}

static int programs_read(struct account *a, char **words, struct error *e)
{
	for (; *words; words += 3) {
		struct program p = {.cpu = (u32)strtoul(words[0], NULL, 10),
				    .pid = (u32)strtoul(words[1], NULL, 10)};

		if (bursts_read(&p, words[2]) || vec_push(&a->programs, p))
			return error_say(e, EIO, "cannot read %s", words[2]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct account a = {.chains = chains_new(stdout)};
	struct recording *recording = NULL;
	const char *dirs[1];
	struct error e = {0};
	int err;

	if (argc < 2 || argc % 3 != 2 || !a.chains)
		return 2;
	dirs[0] = argv[1];
	err = programs_read(&a, argv + 2, &e);
	if (!err)
		err = recording_open(&recording, dirs, 1, NULL, &e);
	for (size_t i = 0; !err && i < recording_info(recording)->chunk_count; i++)
		err = chunk_account(&a, &recording_info(recording)->chunks[i], &e);
	if (err)
		fprintf(stderr, "%s\n", e.text);
	else
		account_print(&a);
	recording_close(recording);
	for (size_t i = 0; i < a.programs.count; i++)
		vec_free(&a.programs.data[i].bursts);
	vec_free(&a.programs);
	chains_free(a.chains);
	return err ? 1 : 0;
}
