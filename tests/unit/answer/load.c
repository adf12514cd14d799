/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of several recordings, of a checkpoint among them, and of ranges of one. */
#include "answer/load.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "map/checkpoint/checkpoint.h"
#include "map/chunk_map.h"
#include "map/fact/query.h"
#include "tests/unit/answer/recordings.h"
#include "tests/unit/check.h"
#include "tests/unit/chunk/make.h"

static void load(struct source *s, const char *const *dirs, size_t count, u64 from_ns, u64 to_ns)
{
	struct source_options o = {.dirs = dirs, .dirs_count = count};
	struct error e = {0};

	if (from_ns)
		o.from = (struct time_point){.kind = TIME_POINT_MONOTONIC, .ns = from_ns};
	if (to_ns)
		o.to = (struct time_point){.kind = TIME_POINT_MONOTONIC, .ns = to_ns};
	if (source_load(&o, s, &e))
		CHECK_FAIL("%s", e.text);
}

static u64 waits_of(const struct source *s)
{
	u64 count = 0;

	for (size_t i = 0; i < s->partial->waits.list.count; i++)
		count += s->partial->waits.list.data[i].count;
	return count;
}

static struct split all_of(const struct source *s)
{
	struct split sum = {0};

	for (size_t i = 0; i < s->partial->lives.count; i++)
		split_add(&sum, &s->partial->lives.data[i]->total);
	return sum;
}

/* The parts of an answer that are compared with another answer. */
struct answer {
	u64 from_ns, to_ns, recorded_ns, waits, spans;
	size_t gaps;
	struct split all;
};

static struct answer answer_of(const char *const *dirs, size_t count, u64 from_ns)
{
	struct source_options o = {.dirs = dirs, .dirs_count = count, .spans = true};
	struct answer a = {0};
	struct error e = {0};
	struct source s;

	if (from_ns)
		o.from = (struct time_point){.kind = TIME_POINT_MONOTONIC, .ns = from_ns};
	if (source_load(&o, &s, &e))
		CHECK_FAIL("%s", e.text);
	a.from_ns = s.from_ns;
	a.to_ns = s.to_ns;
	a.recorded_ns = s.recorded_ns;
	a.waits = waits_of(&s);
	a.spans = kspans_count(&s.partial->kspans);
	a.gaps = s.view.gaps_count;
	a.all = all_of(&s);
	for (size_t i = 0; i < s.partial->lives.count; i++)
		CHECK(split_total(&s.partial->lives.data[i]->total) <= (s64)(s.to_ns - s.from_ns));
	source_free(&s);
	return a;
}

/* A chunk of two CPUs of which a hypervisor took a quarter. */
static void steal_write(const char *dir, u64 begin_ns, u64 end_ns)
{
	const struct chunk_clock clock = {.monotonic_ns = begin_ns, .unix_ns = begin_ns + 1};
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = begin_ns,
						     .cpus = "0-1",
						     .boot_id = BOOT,
						     .clock = &clock,
						     .no_sync = true};
	struct record_steal steal = {.head = {.kind = RECORD_steal, .time_ns = end_ns - 1},
				     .steal_ns = (end_ns - begin_ns) / 4,
				     .begin_ns = begin_ns};
	struct chunk_writer *w;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	for (u16 cpu = 0; cpu < 2; cpu++) {
		steal.head.cpu = steal.of_cpu = cpu;
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, cpu),
					  &steal.head),
			 0);
	}
	CHECK_EQ(chunk_writer_cut(w, end_ns, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, NULL, NULL), 0);
	chunk_writer_close(w);
}

/* The checkpoint of one recording holds beside another one, which is older. */
TEST(a_checkpoint_holds_beside_another_recording)
{
	const char *older = make_directory(), *kept = make_directory();
	const char *const orders[3][2] = {{kept}, {older, kept}, {kept, older}};

	chunk_write(older, 1000 * MS, 1010 * MS, "other", 7);
	chunk_write(kept, 1020 * MS, 1030 * MS, "named", 8);
	chunk_write(kept, 1030 * MS, 1040 * MS, "", 8);
	first_goes(kept);
	for (int i = 0; i < 3; i++) {
		struct source s;
		const char *comm;

		load(&s, orders[i], i ? 2 : 1, 0, 0);
		comm = query_comm(s.partial, 8, 1035 * MS);
		CHECK(comm);
		CHECK_STR(comm, "named");
		CHECK(!i || strcmp(query_comm(s.partial, 7, 1005 * MS), "other") == 0);
		for (size_t k = 0; k < s.partial->lives.count; k++)
			CHECK(split_total(&s.partial->lives.data[k]->total) <= (s64)(10 * MS));
		CHECK_EQ(s.partial->lives.count, i ? 2 : 1);
		source_free(&s);
	}
}

/* Nobody will ever bring the rest of that time. */
TEST(a_checkpoint_that_begins_with_late_records_does_not_wait)
{
	const struct partial_options options = {.state_only = true};
	const char *dir = make_directory();
	struct recording_checkpoint checkpoint;
	struct partial *state;

	late_write(dir, 1000 * MS);
	first_goes(dir);
	CHECK_EQ(recording_checkpoint_read(dir, NULL, &checkpoint, NULL), 0);
	CHECK_EQ(checkpoint_read(&state, checkpoint.data, checkpoint.bytes, &options), 0);
	CHECK_EQ(state->raw.list.count, 0);
	CHECK_EQ(state->facts.forks.count, 0); /* as in any whose end is complete */
	partial_free(state);
	recording_checkpoint_free(&checkpoint);
}

/* Nobody recorded between it and the first chunk that is left: what is told begins there. */
TEST(an_answer_begins_behind_the_hole_after_a_checkpoint)
{
	const char *whole = make_directory(), *kept = make_directory(), *older = make_directory();
	const char *const both[2] = {older, kept}, *const pair[2] = {older, whole};
	const u64 begin = 1030 * MS, froms[3] = {0, 1025 * MS, 1035 * MS};

	chunk_write(older, 900 * MS, 910 * MS, "other", 7);
	for (int i = 0; i < 2; i++) {
		const char *dir = i ? kept : whole;

		snapshot_write(dir, 1000 * MS, 1010 * MS, 8);
		snapshot_write(dir, begin, 1040 * MS, 8);
		chunk_write(dir, 1040 * MS, 1050 * MS, "", 8);
	}
	first_goes(kept);
	for (int i = 0; i < 3; i++) {
		struct answer expected = answer_of(&whole, 1, froms[i] > begin ? froms[i] : begin);
		struct answer a = answer_of(&kept, 1, froms[i]);

		CHECK_EQ(a.from_ns, froms[i] > begin ? froms[i] : begin);
		CHECK_EQ(split_total(&a.all), 1050 * MS - a.from_ns);
		CHECK_EQ(memcmp(&a, &expected, sizeof(a)), 0);
		/* beside another recording the hole is part of a gap in the range */
		expected = answer_of(pair, 2, froms[i] ? froms[i] : begin);
		a = answer_of(both, 2, froms[i] ? froms[i] : begin);
		CHECK_EQ(memcmp(&a, &expected, sizeof(a)), 0);
	}
	CHECK_EQ(answer_of(both, 2, 0).gaps, 1);
}

/* As if it had been asked for afterwards. */
TEST(a_chunk_that_goes_while_it_is_read_is_not_damaged)
{
	for (int times = 1; times <= 2; times++) {
		const char *dir = make_directory();
		struct source s;

		chunk_write(dir, 1000 * MS, 1010 * MS, "named", 8);
		chunk_write(dir, 1010 * MS, 1020 * MS, "", 8);
		chunk_write(dir, 1020 * MS, 1030 * MS, "", 8);
		first_goes_when_read(dir, times);
		load(&s, &dir, 1, 0, 0);
		CHECK_EQ(first_goes_left(), 0);
		CHECK_EQ(s.view.lost.damaged, 0);
		CHECK_EQ(s.view.gaps_count, 0);
		CHECK_EQ(s.from_ns, (1000 + 10 * (u64)times) * MS);
		CHECK_STR(query_comm(s.partial, 8, 1025 * MS), "named");
		CHECK_EQ(split_total(&s.partial->lives.data[0]->total), (30 - 10 * times) * MS);
		source_free(&s);
	}
}

/* Somebody else deleted its files, and the directory is left: what chunks before told is kept. */
TEST(a_chunk_of_which_nothing_is_left_takes_nothing_along)
{
	const char *const files[] = {"cpu0", "life", ".manifest", "metadata"};
	const char *dir = make_directory();
	struct recording_checkpoint checkpoint = {0};
	struct recording *recording;
	struct chunk_reader *reader;
	struct source s;
	char path[4096];

	chunk_write(dir, 1000 * MS, 1010 * MS, "named", 8);
	chunk_write(dir, 1010 * MS, 1020 * MS, "", 8);
	chunk_write(dir, 1020 * MS, 1030 * MS, "", 8);
	first_goes(dir);
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	snprintf(path, sizeof(path), "%s", recording_info(recording)->chunks[0].path);
	recording_close(recording);
	for (int i = 0; i < 4; i++)
		unlink(make_path(path, files[i]));
	CHECK_EQ(recording_checkpoint_read(dir, NULL, &checkpoint, NULL), 0);
	CHECK_EQ(chunk_reader_open(&reader, path, NULL), 0);
	CHECK_EQ(chunk_absorb(&checkpoint, chunk_reader_info(reader), reader, NULL), 0);
	chunk_reader_close(reader);
	CHECK_EQ(recording_checkpoint_write(dir, NULL, NULL, &checkpoint, NULL), 0);
	recording_checkpoint_free(&checkpoint);
	CHECK_EQ(rmdir(path), 0);
	load(&s, &dir, 1, 0, 0);
	CHECK_STR(query_comm(s.partial, 8, 1025 * MS), "named");
	source_free(&s);
}

/* As if recorders could not read the boot id: then all chunks are of one boot. */
TEST(chunks_of_which_nobody_knows_the_boot_are_kept_in_mind_too)
{
	const char *dir = make_directory();
	struct recording_checkpoint checkpoint = {0};
	struct recording *recording;
	struct chunk_reader *reader;

	chunk_boot = "";
	chunk_write(dir, 1000 * MS, 1010 * MS, "named", 8);
	chunk_write(dir, 1010 * MS, 1020 * MS, "", 8);
	chunk_boot = BOOT;
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	for (int i = 0; i < 2; i++) {
		const char *path = recording_info(recording)->chunks[i].path;

		CHECK_EQ(chunk_reader_open(&reader, path, NULL), 0);
		CHECK_EQ(chunk_absorb(&checkpoint, chunk_reader_info(reader), reader, NULL), 0);
		chunk_reader_close(reader);
		CHECK_EQ(checkpoint.end_ns, (1010 + 10 * (u64)i) * MS);
	}
	recording_close(recording);
	recording_checkpoint_free(&checkpoint);
}

/* A recorder that deletes faster than it can be read does not keep us for ever. */
TEST(chunks_that_go_again_and_again_are_left_out)
{
	const char *dir = make_directory();
	struct split sum;
	struct source s;

	for (u64 i = 0; i < 9; i++)
		chunk_write(dir, (1000 + 10 * i) * MS, (1010 + 10 * i) * MS, "named", 8);
	first_goes_when_read(dir, 6);
	load(&s, &dir, 1, 0, 0);
	CHECK_EQ(first_goes_left(), 0);
	CHECK_EQ(s.view.lost.damaged, 0);
	CHECK_EQ(s.to_ns, 1090 * MS);
	sum = all_of(&s);
	CHECK_EQ(split_total(&sum), 30 * MS); /* of the three that are left */
	source_free(&s);
}

/* A chunk that a checkpoint stands for already counts nowhere, whatever it is read with. */
TEST(a_chunk_that_a_crash_left_beside_its_checkpoint_is_passed_over)
{
	const char *older = make_directory(), *kept = make_directory();
	const char *const orders[3][2] = {{kept}, {older, kept}, {kept, older}};

	chunk_write(older, 1000 * MS, 1010 * MS, "other", 7);
	chunk_write(kept, 1020 * MS, 1030 * MS, "named", 8);
	chunk_write(kept, 1030 * MS, 1040 * MS, "", 8);
	chunk_write(kept, 1040 * MS, 1050 * MS, "", 8);
	first_goes(kept);
	first_is_absorbed(kept, false);
	for (int i = 0; i < 3; i++) {
		struct source s;

		load(&s, orders[i], i ? 2 : 1, 0, 0);
		CHECK(query_comm(s.partial, 8, 1045 * MS));
		CHECK_STR(query_comm(s.partial, 8, 1045 * MS), "named");
		CHECK_EQ(waits_of(&s), i ? 2 : 1);
		CHECK_EQ(s.view.gaps_count, i ? 1 : 0);
		if (i) {
			CHECK_EQ(s.view.gaps[0].from_ns, 1010 * MS);
			CHECK_EQ(s.view.gaps[0].to_ns, 1040 * MS);
		}
		source_free(&s);
	}
}

/* Whether the first of these chunks knows a name that only one had which is gone. */
static bool knows_name(const char *const *dirs, size_t count)
{
	const char *comm;
	struct source s;
	bool knows;

	load(&s, dirs, count, 0, 0);
	comm = query_comm(s.partial, 8, s.from_ns + 5 * MS);
	knows = comm && strcmp(comm, "named") == 0;
	source_free(&s);
	return knows;
}

/* Without a gap, or behind a hole: what is left out before it may have renamed the thread. */
TEST(named_chunks_have_the_checkpoint_of_their_directory)
{
	for (int hole = 0; hole < 2; hole++) {
		for (int left = 0; left < 2; left++) {
			const char *dir = make_directory(), *dirs[3];
			struct recording *recording;
			char paths[3][4096 + 1];

			chunk_write(dir, 1000 * MS, 1010 * MS, "named", 8);
			for (u64 at = 1010 + (hole ? 5 : 0); at < 1040; at += 10)
				chunk_write(dir, at * MS, (at + 10) * MS, "", 8);
			first_is_absorbed(dir, !left);
			CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
			CHECK_EQ(recording_info(recording)->chunk_count, 3 + (size_t)left);
			for (size_t i = 0; i < 3; i++) {
				snprintf(paths[i], sizeof(paths[i]), "%s/",
					 recording_info(recording)->chunks[i + (size_t)left].path);
				dirs[2 - i] = paths[i];
			}
			recording_close(recording);
			CHECK(knows_name(&dir, 1));
			CHECK(knows_name(dirs, 3));	 /* all */
			CHECK(knows_name(dirs + 1, 2));	 /* the first two */
			CHECK(knows_name(dirs + 2, 1));	 /* the first one */
			CHECK(!knows_name(dirs, 2));	 /* not the first one */
			CHECK(!knows_name(dirs + 1, 1)); /* the second one */
		}
	}
}

/* Given twice, and under two names, a directory has one checkpoint. */
TEST(a_checkpoint_that_is_read_twice_counts_once)
{
	const char *kept = make_directory();
	char again[4096];
	const char *const dirs[] = {kept, again, kept};
	struct source s;

	snprintf(again, sizeof(again), "%s/", kept);
	chunk_write(kept, 1020 * MS, 1030 * MS, "named", 8);
	chunk_write(kept, 1030 * MS, 1040 * MS, "", 8);
	first_goes(kept);
	load(&s, dirs, 3, 0, 0);
	CHECK_STR(query_comm(s.partial, 8, 1035 * MS), "named");
	CHECK_EQ(waits_of(&s), 1);
	CHECK_EQ(s.view.gaps_count, 0);
	source_free(&s);
}

static void line_keep(void *arg, const char *line)
{
	strncat(arg, line, 2000);
	strncat(arg, "\n", 2);
}

/* The damage of a checkpoint is told once, where a recording is read beside another one. */
TEST(a_second_checkpoint_that_is_damaged_is_told_once)
{
	const char *older = make_directory(), *kept = make_directory();
	const char *const dirs[] = {older, kept};
	char path[4096], told[8192] = "", *at;
	const struct source_options o = {.dirs = dirs,
					 .dirs_count = 2,
					 .from = {TIME_POINT_MONOTONIC, 1005 * MS},
					 .notice = {line_keep, told}};
	struct error e = {0};
	struct source s;
	FILE *file;

	chunk_write(older, 1000 * MS, 1010 * MS, "other", 7);
	chunk_write(kept, 1020 * MS, 1030 * MS, "named", 8);
	snprintf(path, sizeof(path), "%s/checkpoint", kept);
	file = fopen(path, "w");
	CHECK(file);
	fputs("no checkpoint", file);
	fclose(file);
	CHECK_EQ(source_load(&o, &s, &e), 0);
	at = strstr(told, path);
	CHECK(at);
	CHECK(!strstr(at + 1, path));
	CHECK_EQ(waits_of(&s), 2);
	source_free(&s);
}

/* If another recorder ran at the time of the checkpoint, nothing can be joined to it. */
TEST(a_checkpoint_among_other_chunks_is_left_out)
{
	const char *other = make_directory(), *kept = make_directory();
	const char *const dirs[] = {other, kept};
	struct source s;

	chunk_write(other, 1010 * MS, 1025 * MS, "other", 7);
	chunk_write(kept, 1020 * MS, 1030 * MS, "named", 8);
	chunk_write(kept, 1030 * MS, 1040 * MS, "", 8);
	first_goes(kept);
	load(&s, dirs, 2, 0, 0);
	CHECK(!query_comm(s.partial, 8, 1035 * MS));
	CHECK_STR(query_comm(s.partial, 7, 1020 * MS), "other");
	source_free(&s);
}

/* A wait that is open at the end belongs to a range that reaches there, and to no other one. */
TEST(a_range_that_leaves_nothing_out_is_the_whole)
{
	const char *dir = make_directory();
	const u64 begin = 1000 * MS, middle = 1012 * MS, end = 1020 * MS;
	const u64 ranges[4][2] = {{0, 0}, {begin, end}, {begin, middle}, {middle, end}};
	struct split of[4];
	u64 waits[4];

	chunk_write(dir, begin, 1010 * MS, "one", 7);
	chunk_write(dir, 1010 * MS, end, "two", 8);
	for (int i = 0; i < 4; i++) {
		struct source s;

		load(&s, &dir, 1, ranges[i][0], ranges[i][1]);
		CHECK_EQ(s.from_ns, ranges[i][0] ? ranges[i][0] : begin);
		CHECK_EQ(s.to_ns, ranges[i][1] ? ranges[i][1] : end);
		waits[i] = waits_of(&s);
		of[i] = all_of(&s);
		source_free(&s);
	}
	CHECK_EQ(waits[0], 2);
	CHECK_EQ(waits[1], waits[0]);
	CHECK_EQ(waits[2] + waits[3], waits[0]);
	for (int part = 0; part < SPLIT_PARTS_COUNT; part++) {
		CHECK_EQ(of[1].ns[part], of[0].ns[part]);
		CHECK_EQ(of[2].ns[part] + of[3].ns[part], of[0].ns[part]);
	}
}

/* Events that both recorded would count twice, and it is unknown which one is right. */
TEST(recordings_of_the_same_time_are_refused)
{
	const char *one = make_directory(), *two = make_directory();
	const char *const orders[2][2] = {{one, two}, {two, one}};
	char expected[16384];

	chunk_write(one, 1000 * MS, 1010 * MS, "one", 7);
	chunk_write(one, 1010 * MS, 1020 * MS, "", 7);
	chunk_write(two, 1015 * MS, 1025 * MS, "one", 7);
	snprintf(expected, sizeof(expected), "%s and %s overlap in time", one, two);
	for (int i = 0; i < 2; i++) {
		struct source_options o = {.dirs = orders[i], .dirs_count = 2};
		struct error e = {0};
		struct source s;

		CHECK_EQ(source_load(&o, &s, &e), -EEXIST);
		CHECK(strncmp(e.text, expected, strlen(expected)) == 0);
		source_free(&s);
	}
}

/* In one directory, where somebody put them together, the chunks have names. */
TEST(chunks_of_the_same_time_are_refused_by_name)
{
	const char *dir = make_directory();
	const struct source_options o = {.dirs = &dir, .dirs_count = 1};
	struct recording *recording;
	char expected[16384];
	struct error e = {0};
	struct source s;

	chunk_write(dir, 1000 * MS, 1010 * MS, "one", 7);
	chunk_write(dir, 1009 * MS, 1020 * MS, "", 7);
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	snprintf(expected, sizeof(expected), "%s and %s overlap in time",
		 recording_info(recording)->chunks[0].path,
		 recording_info(recording)->chunks[1].path);
	recording_close(recording);
	CHECK_EQ(source_load(&o, &s, &e), -EEXIST);
	CHECK(strncmp(e.text, expected, strlen(expected)) == 0);
	source_free(&s);
}

TEST(an_answer_covers_no_more_than_was_recorded)
{
	const char *dir = make_directory();
	const u64 begin = 1000 * MS, end = 1020 * MS;
	const u64 ranges[4][2] = {
		{1, end + 1}, {begin - 1, 0}, {0, 5000 * MS}, {1005 * MS, 5000 * MS}};

	chunk_write(dir, begin, 1010 * MS, "one", 7);
	chunk_write(dir, 1010 * MS, end, "", 7);
	for (int i = 0; i < 4; i++) {
		struct source s;

		load(&s, &dir, 1, ranges[i][0], ranges[i][1]);
		CHECK_EQ(s.from_ns, i < 3 ? begin : 1005 * MS);
		CHECK_EQ(s.to_ns, end);
		CHECK_EQ(s.recorded_ns, end - s.from_ns);
		source_free(&s);
	}
}

/* After a crash between the two steps of retention, the range is in a replaced chunk. */
TEST(a_range_of_what_a_checkpoint_stands_for_holds_nothing)
{
	const char *dir = make_directory();
	struct source_options o = {.dirs = &dir, .dirs_count = 1};
	struct error e = {0};
	struct source s;

	chunk_write(dir, 1000 * MS, 1010 * MS, "one", 7);
	chunk_write(dir, 1010 * MS, 1020 * MS, "", 7);
	first_is_absorbed(dir, false);
	o.from = (struct time_point){.kind = TIME_POINT_MONOTONIC, .ns = 1002 * MS};
	load(&s, &dir, 1, 1002 * MS, 0);
	CHECK_EQ(s.from_ns, 1010 * MS);
	source_free(&s);
	o.to = (struct time_point){.kind = TIME_POINT_MONOTONIC, .ns = 1008 * MS};
	CHECK_EQ(source_load(&o, &s, &e), -ERANGE);
	CHECK_STR(e.text,
		  "the range is outside of the recording, which lasts 10.0 ms, from 1010000000 "
		  "to 1020000000 ns");
	source_free(&s);
}

/* In each of the ways to say it. */
TEST(a_range_that_ends_before_the_recording_is_refused)
{
	const char *dir = make_directory();
	const struct time_point ends[] = {{TIME_POINT_MONOTONIC, 0},
					  {TIME_POINT_MONOTONIC, 1},
					  {TIME_POINT_SINCE_BEGIN, 0},
					  {TIME_POINT_MONOTONIC, 1000 * MS}};

	chunk_write(dir, 1000 * MS, 1010 * MS, "one", 7);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct source_options o = {.dirs = &dir, .dirs_count = 1, .to = ends[i]};
		struct error e = {0};
		struct source s;

		CHECK_EQ(source_load(&o, &s, &e), -ERANGE);
		CHECK_STR(e.text,
			  "the range is outside of the recording, which lasts 10.0 ms, from "
			  "1000000000 to 1010000000 ns");
		source_free(&s);
		o.from = ends[i];
		o.to.kind = TIME_POINT_NONE;
		CHECK_EQ(source_load(&o, &s, NULL), 0);
		CHECK_EQ(s.from_ns, 1000 * MS);
		source_free(&s);
	}
}

/* The gap lies in [1010, 1020). */
TEST(only_gaps_in_the_range_are_told)
{
	const char *dir = make_directory();
	const u64 ranges[5][2] = {{0, 0},
				  {1002 * MS, 1010 * MS},
				  {1020 * MS, 1025 * MS},
				  {1019 * MS, 0},
				  {0, 1011 * MS}};
	const size_t told[5] = {1, 0, 0, 1, 1};

	chunk_write(dir, 1000 * MS, 1010 * MS, "one", 7);
	chunk_write(dir, 1020 * MS, 1030 * MS, "", 7);
	for (int i = 0; i < 5; i++) {
		struct source s;

		load(&s, &dir, 1, ranges[i][0], ranges[i][1]);
		CHECK_EQ(s.view.gaps_count, told[i]);
		source_free(&s);
	}
}

/* A gap has no CPU time that could have been stolen. */
TEST(steal_is_a_share_of_what_was_recorded)
{
	const char *dir = make_directory();
	const u64 ranges[4][2] = {
		{0, 0}, {0, 9000 * MS}, {1000 * MS, 1500 * MS}, {2000 * MS, 3500 * MS}};
	const u64 recorded[4] = {2000, 2000, 500, 500};

	steal_write(dir, 1000 * MS, 2000 * MS);
	steal_write(dir, 3000 * MS, 4000 * MS);
	for (int i = 0; i < 4; i++) {
		struct source s;

		load(&s, &dir, 1, ranges[i][0], ranges[i][1]);
		CHECK_EQ(s.recorded_ns, recorded[i] * MS);
		CHECK_EQ(s.view.cpu_ns, 2 * recorded[i] * MS);
		CHECK_EQ((s.view.steal_ns * 100 + s.view.cpu_ns / 2) / s.view.cpu_ns, 25);
		source_free(&s);
	}
}

/* Writes a recording with --spans-only that lasts from 1 to 2 s, with no other filter. */
static void filtered_write(const char *dir)
{
	const struct chunk_clock clock = {.monotonic_ns = 1000 * MS, .unix_ns = 1000 * MS + 1};
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = 1000 * MS,
						     .host = "here",
						     .boot_id = BOOT,
						     .clock = &clock,
						     .cpus = "0",
						     .filters = FILTER_SPANS,
						     .no_sync = true};
	const struct record_filter filter = {
		.head = {.kind = RECORD_filter, .time_ns = 1000 * MS + 1}, .flags = FILTER_SPANS};
	struct chunk_writer *w;
	union make_record call;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	make_syscall(&call, 1500 * MS, 0, 1);
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_LIFE, 0), &filter.head), 0);
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &call.head), 0);
	CHECK_EQ(chunk_writer_cut(w, 2000 * MS, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, NULL, NULL), 0);
	chunk_writer_close(w);
}

static void check_filters(const char *dir, u64 from_ns, u64 to_ns, unsigned int filters)
{
	struct source s;

	load(&s, &dir, 1, from_ns, to_ns);
	CHECK_EQ(s.view.filters, filters);
	source_free(&s);
}

/* Whether a record says so or, where that is lost, the manifest; and no answer beside it says so.
 */
TEST(what_was_left_out_is_told_of_its_own_time)
{
	const char *dir = make_directory();
	const char *const goes[] = {"life", ".manifest", "metadata"};
	struct recording *recording;

	filtered_write(dir);
	chunk_write(dir, 3000 * MS, 4000 * MS, "full", 7);
	for (int lost = 0; lost < 3; lost++) {
		check_filters(dir, 0, 0, lost < 2 ? FILTER_SPANS : 0); /* else there is but a gap */
		check_filters(dir, 3000 * MS, 0, 0);
		CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
		CHECK_EQ(recording_info(recording)->chunks[0].filters, FILTER_SPANS);
		unlink(make_path(recording_info(recording)->chunks[0].path, goes[lost]));
		recording_close(recording);
	}
	first_is_absorbed(dir, true);
	check_filters(dir, 0, 0, 0);
}

TEST_MAIN()
