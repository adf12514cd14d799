/* SPDX-License-Identifier: Apache-2.0 */
/* The number of threads that map chunks changes neither the answer nor what is told, nor its order.
 */
#include "answer/mapper.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/load.h"
#include "base/bytes.h"
#include "map/kernel/kspans.h"
#include "tests/unit/answer/recordings.h"
#include "tests/unit/check.h"
#include "tests/unit/chunk/make.h"

static const u64 threads[] = {1, 2, 4, 16};

#define THREADS_COUNT (sizeof(threads) / sizeof(threads[0]))

/* ---- an answer as a text ---- */

struct answer {
	char told[8192]; /* the notices, without the directories */
	char text[32768];
	u64 done_bytes, bytes; /* the last progress */
	const char *const *dirs;
	size_t dirs_count;
	size_t lives;
};

static void line_keep(void *arg, const char *line)
{
	struct answer *a = arg;
	char text[1024], *at;

	snprintf(text, sizeof(text), "%s", line);
	for (size_t i = 0; i < a->dirs_count; i++)
		while ((at = strstr(text, a->dirs[i])))
			memmove(at, at + strlen(a->dirs[i]), strlen(at + strlen(a->dirs[i])) + 1);
	strncat(a->told, text, sizeof(a->told) - strlen(a->told) - 2);
	strcat(a->told, "\n");
}

static void progress_keep(void *arg, u64 done_bytes, u64 bytes)
{
	struct answer *a = arg;

	CHECK(done_bytes <= bytes);
	a->done_bytes = done_bytes;
	a->bytes = bytes;
}

static void split_print(FILE *file, const struct split *split)
{
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		fprintf(file, " %lld", (long long)split->ns[i]);
	fputc('\n', file);
}

static void sums_print(FILE *file, const struct sums *sums)
{
	for (size_t i = 0; i < sums->list.count; i++) {
		fprintf(file, "sum %llu %u %llu", (unsigned long long)sums->list.data[i].key,
			sums->list.data[i].pid, (unsigned long long)sums->list.data[i].count);
		split_print(file, &sums->list.data[i].split);
	}
}

static void source_print(FILE *file, const struct source *s)
{
	const struct partial *p = s->partial;

	fprintf(file, "%llu %llu %llu %llu %zu\n", (unsigned long long)s->from_ns,
		(unsigned long long)s->to_ns, (unsigned long long)s->recorded_ns,
		(unsigned long long)s->view.lost.damaged, kspans_count(&p->kspans));
	for (size_t i = 0; i < s->view.gaps_count; i++)
		fprintf(file, "gap %llu %llu\n", (unsigned long long)s->view.gaps[i].from_ns,
			(unsigned long long)s->view.gaps[i].to_ns);
	for (size_t i = 0; i < p->gaps.count; i++)
		fprintf(file, "gap of map %llu %llu\n",
			(unsigned long long)p->gaps.data[i].begin_ns,
			(unsigned long long)p->gaps.data[i].head.time_ns);
	for (size_t i = 0; i < p->lives.count; i++) {
		fprintf(file, "life %u", p->lives.data[i]->tid);
		split_print(file, &p->lives.data[i]->total);
	}
	sums_print(file, &p->calls);
	sums_print(file, &p->waits);
}

static void answer_make(struct answer *a, u64 by, const char *const *dirs, size_t count)
{
	const struct source_options o = {.dirs = dirs,
					 .dirs_count = count,
					 .spans = true,
					 .threads = by,
					 .notice = {line_keep, a},
					 .progress = {progress_keep, a}};
	struct error e = {0};
	struct source s;
	FILE *file;

	*a = (struct answer){.dirs = dirs, .dirs_count = count};
	if (source_load(&o, &s, &e))
		CHECK_FAIL("%s", e.text);
	file = fmemopen(a->text, sizeof(a->text), "w");
	source_print(file, &s);
	CHECK(ftell(file) + 1 < (long)sizeof(a->text));
	fclose(file);
	a->lives = s.partial->lives.count;
	CHECK(a->bytes);
	CHECK_EQ(a->done_bytes, a->bytes);
	source_free(&s);
}

static void check_same(const struct answer *a, const struct answer *expected)
{
	CHECK_STR(a->told, expected->told);
	CHECK_STR(a->text, expected->text);
}

/* ---- recordings ---- */

/* Chunks of 10 ms, one after the other, with a gap before each third one. */
static void chunks_write(const char *dir, u64 from_ms, size_t count)
{
	for (u64 i = 0; i < count; i++) {
		u64 begin_ns = (from_ms + 10 * i + 5 * (i / 3)) * MS;

		chunk_write(dir, begin_ns, begin_ns + 10 * MS, i % 4 ? "" : "named",
			    (u32)(7 + i % 3));
	}
}

/* Overwrites what its stream of a CPU ends with. */
static void chunk_damage(const char *dir, size_t at)
{
	char path[4096];
	struct stat st;
	int fd;

	chunk_path(dir, at, path);
	fd = open(make_path(path, "cpu0"), O_WRONLY);
	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(pwrite(fd, "damaged", 7, st.st_size - 20), 7);
	close(fd);
}

/* ---- tests ---- */

TEST(chunks_and_gaps)
{
	static struct answer one, a;
	const char *dir = make_directory();

	chunks_write(dir, 1000, 20);
	answer_make(&one, 1, &dir, 1);
	CHECK(one.lives);
	for (size_t i = 0; i < THREADS_COUNT; i++) {
		answer_make(&a, threads[i], &dir, 1);
		check_same(&a, &one);
	}
}

TEST(one_chunk)
{
	static struct answer one, a;
	const char *dir = make_directory();

	chunks_write(dir, 1000, 1);
	answer_make(&one, 1, &dir, 1);
	answer_make(&a, 4, &dir, 1);
	check_same(&a, &one);
	answer_make(&a, 0, &dir, 1);
	check_same(&a, &one);
}

TEST(damage_is_told_in_the_order_of_chunks)
{
	static struct answer one, a;
	const char *dir = make_directory();
	const char *before = "";
	int lines = 0;

	chunks_write(dir, 1000, 12);
	chunk_damage(dir, 2);
	chunk_damage(dir, 3);
	chunk_damage(dir, 9);
	answer_make(&one, 1, &dir, 1);
	for (const char *at = one.told; *at; at = strchr(at, '\n') + 1) {
		CHECK(strcmp(at, before) > 0); /* a line begins with the name of the chunk */
		before = at;
		lines++;
	}
	CHECK_EQ(lines, 3);
	for (size_t i = 0; i < THREADS_COUNT; i++) {
		answer_make(&a, threads[i], &dir, 1);
		check_same(&a, &one);
	}
}

/* A file takes the place of a chunk. */
static void chunk_replace(void *path)
{
	char away[4096 + 8];
	int fd;

	snprintf(away, sizeof(away), "%s-away", (const char *)path);
	if (rename(path, away))
		abort();
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		abort();
	close(fd);
}

/* Then the time of it is a gap before the next one, which was mapped as if there were none. */
TEST(a_chunk_that_cannot_be_read_leaves_a_gap)
{
	static struct answer one, a;
	static char path[4096];

	for (size_t i = 0; i < THREADS_COUNT; i++) {
		const char *dir = make_directory();
		char first[4096];

		chunks_write(dir, 1000, 30);
		chunk_path(dir, 22, path);
		chunk_path(dir, 0, first);
		when_read(first, chunk_replace, path);
		answer_make(&a, threads[i], &dir, 1);

		CHECK(strstr(a.told, "cannot map"));
		CHECK(strstr(a.text, "gap of map 1255000000 1265000000\n"));
		if (!i)
			one = a;
		check_same(&a, &one);
	}
}

TEST(a_chunk_that_goes_while_it_is_read)
{
	static struct answer one, a;

	for (size_t i = 0; i < THREADS_COUNT; i++) {
		const char *dir = make_directory();

		chunks_write(dir, 1000, 20);
		first_goes_when_read(dir, 1);
		answer_make(&a, threads[i], &dir, 1);
		CHECK_EQ(first_goes_left(), 0);
		CHECK_STR(a.told, "");
		if (!i)
			one = a;
		check_same(&a, &one);
	}
}

/* Also one that stands for chunks that a crash left beside it. */
TEST(a_checkpoint_in_the_middle)
{
	static struct answer one, a;

	for (int left = 0; left < 2; left++) {
		const char *const dirs[] = {make_directory(), make_directory()};

		chunks_write(dirs[0], 1000, 8);
		chunks_write(dirs[1], 1200, 9);
		first_goes(dirs[1]);
		if (left)
			first_is_absorbed(dirs[1], false);
		answer_make(&one, 1, dirs, 2);
		CHECK(strstr(one.text,
			     left ? "gap 1090000000 1220000000\n" : "gap 1090000000 1210000000\n"));
		for (size_t i = 0; i < THREADS_COUNT; i++) {
			answer_make(&a, threads[i], dirs, 2);
			check_same(&a, &one);
		}
	}
}

TEST(leaves_can_be_passed_over)
{
	const struct partial_options options = {0};
	const char *dir = make_directory();
	struct recording *recording;
	struct leaf leaves[20];

	chunks_write(dir, 1000, 20);
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	for (size_t i = 0; i < 20; i++)
		leaves[i] = (struct leaf){&recording_info(recording)->chunks[i], 0};
	for (size_t i = 0; i < THREADS_COUNT; i++) {
		struct mapper *mapper;
		struct leaf_mapped mapped;

		CHECK_EQ(mapper_open(&mapper, leaves, 20, &options, threads[i]), 0);
		for (size_t at = 1; at < 18; at += 8) {
			mapper_take(mapper, at, 0, &mapped);
			CHECK_EQ(mapped.err, 0);
			CHECK_EQ(mapped.partial->from_ns, leaves[at].chunk->begin_ns);
			partial_free(mapped.partial);
		}
		mapper_close(mapper);
	}
	recording_close(recording);
}

TEST_MAIN()
