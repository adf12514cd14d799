/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge law over the chunks of a recording as they are, whoever wrote and
 * recovered them: `soak-merge DIR SEED TIMES` takes TIMES times a run of
 * neighbours, merges their partials in their order and in a random grouping, and
 * compares all answers to the byte.
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

/* Answers over `count` neighbours. */
static char *neighbours_answer(struct simulation *s, const struct chunk_info *infos, int count,
			       bool at_random)
{
	struct partial *pieces[NEIGHBOURS];
	u64 covered_ns = 0, to_ns = 0;

	for (int i = 0; i < count; i++) {
		pieces[i] = chunk_partial(&infos[i], covered_ns);
		if (chunk_covers_to(&infos[i]) > covered_ns)
			covered_ns = chunk_covers_to(&infos[i]);
		if (infos[i].end_ns > to_ns)
			to_ns = infos[i].end_ns;
	}
	s->from_ns = infos[0].begin_ns;
	s->to_ns = to_ns;
	if (at_random)
		return answers(merge_at_random(s, pieces, count), s);
	for (int i = 1; i < count; i++)
		if (partial_merge(pieces[0], pieces[i]))
			exit(1);
	return answers(pieces[0], s);
}

static int recording_check(struct simulation *s, const struct recording_info *info, int times)
{
	size_t most = info->chunk_count < NEIGHBOURS ? info->chunk_count : NEIGHBOURS, bytes = 0;
	int failed = 0;

	for (int i = 0; i < times && !failed; i++) {
		int count = 2 + (int)simulation_random(s, most - 1);
		size_t first = simulation_random(s, info->chunk_count - (size_t)count + 1);
		char *folded = neighbours_answer(s, info->chunks + first, count, false);
		char *grouped = neighbours_answer(s, info->chunks + first, count, true);

		failed = strcmp(folded, grouped) != 0;
		if (failed) {
			printf("chunks %zu to %zu\n", first, first + (size_t)count - 1);
			print_difference(folded, grouped);
		}
		bytes += strlen(folded);
		free(folded);
		free(grouped);
	}
	printf("%zu chunks, %zu bytes of answers\n", info->chunk_count, bytes);
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

	if (argc != 4)
		return 2;
	dirs[0] = argv[1];
	s.random = strtoull(argv[2], NULL, 10);
	if (recording_open(&recording, dirs, 1, &options, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	if (recording_info(recording)->chunk_count < 2)
		return 77;
	failed = recording_check(&s, recording_info(recording), atoi(argv[3]));
	recording_close(recording);
	simulation_free(&s);
	return failed;
}
