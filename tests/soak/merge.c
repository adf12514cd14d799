/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge law over the chunks of a recording as they are, whoever wrote and
 * recovered them: `soak-merge DIR SEED TIMES RESTARTS` takes TIMES times a run of
 * neighbours, merges their partials in their order and in a random grouping, and
 * compares all answers to the byte. Then as many times as RESTARTS says a run in which a
 * recorder was killed, which also must equal its two parts, what is before and behind that.
 * Where all streams end at once the same must come of their records one after the other: of runs
 * that are so, and half as many times more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "chunk/chunk.h"
#include "map/chunk_map.h"

#define NEIGHBOURS 4

static struct partial *chunk_partial(const struct chunk_info *info, u64 covered_ns)
{
	struct chunk_task task = {
		.info = info, .covered_ns = covered_ns, .options = {.spans = true}};
	struct partial *p;
	struct error e = {0};

	if (chunk_map(&p, &task, NULL, &e) == 0)
		return p;
	fprintf(stderr, "%s\n", e.text);
	exit(1);
}

enum way {
	WAY_FOLDED,
	WAY_AT_RANDOM,
	WAY_IN_PARTS, /* what is before `second` and the rest, each by itself */
	WAY_WHOLE,    /* of records one after the other, if the chunks are even */
};

static const char *const way_names[] = {
	[WAY_AT_RANDOM] = "at random", [WAY_IN_PARTS] = "in two parts", [WAY_WHOLE] = "whole"};

struct run {
	size_t first;
	int count;
	int second;
};

static struct partial *fold(struct partial **pieces, int count)
{
	for (int i = 1; i < count; i++)
		if (partial_merge(pieces[0], pieces[i]))
			exit(1);
	return pieces[0];
}

static struct partial *pieces_merge(struct simulation *s, struct partial **pieces,
				    const struct run *run, enum way way)
{
	struct partial *parts[2];

	if (way == WAY_AT_RANDOM)
		return merge_at_random(s, pieces, run->count);
	if (way == WAY_FOLDED)
		return fold(pieces, run->count);
	parts[0] = fold(pieces, run->second);
	parts[1] = fold(pieces + run->second, run->count - run->second);
	return fold(parts, 2);
}

/* Its streams begin at once and end at once, and nothing of it comes late. */
static bool is_even(const struct chunk_info *info)
{
	return info->begun_ns <= info->begin_ns && info->late_ns >= info->begin_ns &&
	       info->complete_ns >= info->end_ns && !info->filters;
}

static bool run_is_even(const struct chunk_info *infos, const struct run *run)
{
	for (int i = 0; i < run->count; i++)
		if (!is_even(&infos[run->first + (size_t)i]))
			return false;
	return true;
}

static int chunk_apply(struct partial *p, const struct chunk_info *info, u64 covered_ns)
{
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = info->begin_ns},
				 .begin_ns = covered_ns};
	const struct record_head *record;
	struct chunk_reader *reader;
	int err = chunk_reader_open(&reader, info->path, NULL);

	if (err)
		return err;
	if (covered_ns && covered_ns < info->begin_ns)
		err = partial_apply(p, &gap.head);
	while (!err && (err = chunk_reader_next(reader, &record, NULL)) > 0)
		err = partial_apply(p, record);
	chunk_reader_close(reader);
	return err;
}

/* infos: of the run's chunks. */
static struct partial *whole_partial(const struct chunk_info *infos, int count)
{
	struct partial_options options = {.spans = true};
	struct partial *p = partial_new(&options);

	for (int i = 0; i < count; i++)
		if (!p || chunk_apply(p, &infos[i], i ? infos[i - 1].end_ns : 0))
			exit(1);
	for (int i = 0; i < count; i++)
		partial_cover(p, infos[i].begin_ns, infos[i].end_ns);
	return p;
}

/* Answers over the chunks of a run. */
static char *run_answer(struct simulation *s, const struct chunk_info *infos, const struct run *run,
			enum way way)
{
	struct partial *pieces[NEIGHBOURS];
	u64 covered_ns = 0, to_ns = 0;

	infos += run->first;
	s->from_ns = infos[0].begin_ns;
	if (way == WAY_WHOLE) {
		s->to_ns = infos[run->count - 1].end_ns;
		return answers(whole_partial(infos, run->count), s);
	}
	for (int i = 0; i < run->count; i++) {
		pieces[i] = chunk_partial(&infos[i], covered_ns);
		if (chunk_covers_to(&infos[i]) > covered_ns)
			covered_ns = chunk_covers_to(&infos[i]);
		if (infos[i].end_ns > to_ns)
			to_ns = infos[i].end_ns;
	}
	s->to_ns = to_ns;
	return answers(pieces_merge(s, pieces, run, way), s);
}

/* Compares to `folded`, the answers of the run. 0: they are the same. */
static int way_check(struct simulation *s, const struct chunk_info *infos, const struct run *run,
		     enum way way, const char *folded)
{
	char *other = run_answer(s, infos, run, way);
	int failed = strcmp(folded, other) != 0;

	if (failed) {
		printf("chunks %zu to %zu %s\n", run->first, run->first + (size_t)run->count - 1,
		       way_names[way]);
		print_difference(folded, other);
	}
	free(other);
	return failed;
}

static int run_check(struct simulation *s, const struct chunk_info *infos, const struct run *run,
		     size_t *bytes)
{
	char *folded = run_answer(s, infos, run, WAY_FOLDED);
	int failed = run->second ? way_check(s, infos, run, WAY_IN_PARTS, folded) : 0;

	failed = failed || way_check(s, infos, run, WAY_AT_RANDOM, folded);
	if (!failed && run_is_even(infos, run))
		failed = way_check(s, infos, run, WAY_WHOLE, folded);
	*bytes += strlen(folded);
	free(folded);
	return failed;
}

/* A recorder was killed while it wrote the chunk, and what followed is of the next one. */
static bool is_restart(const struct chunk_info *infos, size_t second)
{
	return infos[second - 1].state == CHUNK_RECOVERED &&
	       chunk_covers_to(&infos[second - 1]) < infos[second].begin_ns;
}

/* A run in which `second` is the first chunk of a recorder, as long as there are chunks. */
static struct run run_around(const struct recording_info *info, size_t second)
{
	size_t before = second < NEIGHBOURS / 2 ? second : NEIGHBOURS / 2;
	size_t behind = info->chunk_count - second;

	if (behind > NEIGHBOURS / 2)
		behind = NEIGHBOURS / 2;
	return (struct run){second - before, (int)(before + behind), (int)before};
}

/* Restarts from a random one on. */
static int restarts_check(struct simulation *s, const struct recording_info *info, int wanted)
{
	size_t from = simulation_random(s, info->chunk_count), bytes = 0;
	int failed = 0, found = 0;

	for (size_t i = 0; i < info->chunk_count && found < wanted && !failed; i++) {
		size_t second = (from + i) % info->chunk_count;
		struct run run;

		if (!second || !is_restart(info->chunks, second))
			continue;
		run = run_around(info, second);
		failed = run_check(s, info->chunks, &run, &bytes);
		found++;
	}
	printf("%d across restarts, %zu bytes; ", found, bytes);
	return failed || (wanted && !found);
}

/* Even ones from a random one on. */
static int evens_check(struct simulation *s, const struct recording_info *info, int wanted)
{
	size_t from = simulation_random(s, info->chunk_count), bytes = 0;
	int failed = 0, found = 0;

	for (size_t i = 0; i < info->chunk_count && found < wanted && !failed; i++) {
		struct run run = {.first = (from + i) % info->chunk_count, .count = 2};

		if (run.first + 2 > info->chunk_count || !run_is_even(info->chunks, &run))
			continue;
		failed = run_check(s, info->chunks, &run, &bytes);
		found++;
	}
	printf("%d as their records one after the other, %zu bytes\n", found, bytes);
	return failed || (wanted && !found);
}

static int neighbours_check(struct simulation *s, const struct recording_info *info, int times)
{
	size_t most = info->chunk_count < NEIGHBOURS ? info->chunk_count : NEIGHBOURS, bytes = 0;
	int failed = 0;

	for (int i = 0; i < times && !failed; i++) {
		struct run run = {.count = 2 + (int)simulation_random(s, most - 1)};

		run.first = simulation_random(s, info->chunk_count - (size_t)run.count + 1);
		failed = run_check(s, info->chunks, &run, &bytes);
	}
	printf("%d of %zu chunks, %zu bytes of answers; ", times, info->chunk_count, bytes);
	return failed;
}

int main(int argc, char **argv)
{
	struct simulation s = {0};
	struct recording *recording = NULL;
	struct recording_options options = {0};
	const char *dirs[1];
	struct error e = {0};
	int failed;

	if (argc != 5)
		return 2;
	dirs[0] = argv[1];
	s.random = strtoull(argv[2], NULL, 10);
	if (recording_open(&recording, dirs, 1, &options, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	if (recording_info(recording)->chunk_count < 2)
		return 77;
	failed = neighbours_check(&s, recording_info(recording), atoi(argv[3]));
	failed = failed || restarts_check(&s, recording_info(recording), atoi(argv[4]));
	failed = failed || evens_check(&s, recording_info(recording), (atoi(argv[3]) + 1) / 2);
	recording_close(recording);
	simulation_free(&s);
	return failed;
}
