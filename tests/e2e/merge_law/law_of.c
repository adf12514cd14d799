/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge law over a recorded trace: `law_of CHUNK SEED TIMES` maps its
 * records whole, then TIMES times cut at random places, every other time at
 * one for each CPU, and merged in a random grouping, and compares all answers
 * to the byte; then with a checkpoint in place of what lies before a random time, of
 * a short trace before each record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "chunk/chunk.h"

#define RECORDS_FOR_ALL 100000
#define RECORDS_SHORT 1000
#define BASES_FEW 4 /* so few may all fall into closes */

static int chunk_take(struct simulation *s, const char *path)
{
	static const char zero[8];
	const struct record_head *r;
	struct chunk_reader *reader;
	struct error e = {0};
	int err = chunk_reader_open(&reader, path, &e);

	while (!err && (err = chunk_reader_next(reader, &r, &e)) > 0) {
		size_t bytes = (size_t)r->slots * RECORD_SLOT_BYTES;

		err = vec_push(&s->records, (struct simulated_record){r->time_ns, s->records.count,
								      s->bytes.count});
		bytes_put(&s->bytes, r, bytes);
		/* behind what was published a record reads as zero */
		for (int i = 0; i < 40; i++)
			bytes_put(&s->bytes, zero, sizeof(zero));
	}
	if (err) {
		fprintf(stderr, "%s\n", e.text);
		return err;
	}
	s->from_ns = chunk_reader_info(reader)->begin_ns;
	s->to_ns = chunk_reader_info(reader)->end_ns;
	chunk_reader_close(reader);
	return 0;
}

/* What is left of a trace whose begin was deleted says what the whole says of that time. */
static int check_base(struct simulation *s, u64 at)
{
	char *whole = answers_since(map_since(s, at), s, at);
	char *resumed = answers_since(map_on_checkpoint(s, at, 1 + (int)simulation_random(s, 5)), s,
				      at);
	int failed = strcmp(whole, resumed) != 0;

	if (failed) {
		printf("on a checkpoint at %llu\n", (unsigned long long)at);
		print_difference(whole, resumed);
	}
	free(whole);
	free(resumed);
	return failed;
}

static const struct record_head *record_at(const struct simulation *s, size_t i)
{
	return (const void *)(s->bytes.data + s->records.data[i].at);
}

/* Whether the thread of a record that closes a descriptor is in that call yet at the instant. */
static bool closes_until(const struct simulation *s, size_t i, u64 at)
{
	u32 tid = record_at(s, i)->tid;

	for (i++; i < s->records.count && s->records.data[i].time_ns < at; i++)
		if (record_at(s, i)->tid == tid)
			return false;
	return true;
}

/* A checkpoint no longer knows the file of a call that has closed it: docs/limits.md. */
static bool somebody_closes(const struct simulation *s, u64 at)
{
	for (size_t i = 0; i < s->records.count && s->records.data[i].time_ns < at; i++) {
		const struct record_fd *fd = (const void *)record_at(s, i);

		if (fd->head.kind == RECORD_fd && fd->op == FD_close && closes_until(s, i, at))
			return true;
	}
	return false;
}

/* Instants at which a checkpoint was tried, and of these, at which it cannot be compared. */
struct bases {
	size_t tried, skipped;
};

static int check_base_at(struct simulation *s, u64 at, struct bases *bases)
{
	bool skip = somebody_closes(s, at);

	bases->tried++;
	bases->skipped += skip;
	return !skip && check_base(s, at);
}

/* A trace of which most instants are skipped proves nothing. */
static int check_bases(struct simulation *s, int times)
{
	struct bases bases = {0};
	int failed = 0;

	for (int i = 0; i < 1 + times / 4 && !failed; i++)
		failed = check_base_at(s, s->from_ns + simulation_random(s, s->to_ns - s->from_ns),
				       &bases);
	for (size_t i = 0; i < s->records.count && !failed && s->records.count <= RECORDS_SHORT;
	     i++)
		failed = check_base_at(s, s->records.data[i].time_ns, &bases);
	printf("%zu checkpoints, of which %zu are skipped\n", bases.tried, bases.skipped);
	return failed || (bases.tried >= BASES_FEW && bases.skipped * 2 > bases.tried);
}

int main(int argc, char **argv)
{
	struct simulation s = {0};
	char *whole;
	int times, failed = 0;

	if (argc != 4)
		return 2;
	s.random = strtoull(argv[2], NULL, 10);
	times = atoi(argv[3]);
	if (chunk_take(&s, argv[1]))
		return 1;
	if (s.records.count > RECORDS_FOR_ALL) /* a busy neighbour */
		times = 1 + (int)((u64)times * RECORDS_FOR_ALL / s.records.count);
	whole = answers(map_range(&s, 0, s.records.count), &s);
	for (int i = 0; i < times && !failed; i++) {
		int cuts = 1 + (int)simulation_random(&s, 16);
		char *cut = answers(i % 2 ? map_cut_streams(&s, cuts) : map_cut(&s, cuts), &s);

		failed = strcmp(whole, cut) != 0;
		if (failed)
			print_difference(whole, cut);
		free(cut);
	}
	if (!failed)
		failed = check_bases(&s, times);
	printf("%zu records, %zu bytes of answers\n", s.records.count, strlen(whole));
	free(whole);
	simulation_free(&s);
	return failed;
}
