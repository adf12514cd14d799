/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "make.h"
#include "recut.h"
#include "tests/unit/check.h"

static uint64_t read_all(struct recording *recording)
{
	struct make_walk walk = {.info = recording_info(recording)};
	const struct record_head *record;
	uint64_t n = 0, last = 0;

	while (make_walk_next(&walk, &record)) {
		CHECK(record->time_ns >= last);
		last = record->time_ns;
		n += !make_is_hole(record);
	}
	return n;
}

TEST(chunks_in_any_order_and_twice)
{
	const char *one = make_directory(), *two = make_directory();
	struct chunk_info a, b, c;
	struct recording *recording;

	make_chunk(one, 1000, 10, false, &a); /* 1000 .. 11000 */
	make_chunk(two, 11000, 20, true, &b); /* 11000 .. 31000 */
	make_chunk(one, 41000, 30, false, &c);
	const char *const dirs[] = {c.path, two, one, a.path, make_path(two, "")};

	CHECK_EQ(recording_open(&recording, dirs, 5, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunk_count, 3);
	CHECK_STR(recording_info(recording)->chunks[0].path, a.path);
	CHECK_EQ(recording_info(recording)->gap_count, 1);
	CHECK_EQ(recording_info(recording)->gaps[0].from_ns, 31000);
	CHECK_EQ(recording_info(recording)->gaps[0].to_ns, 41000);
	CHECK_EQ(recording_info(recording)->begin_ns, 1000);
	CHECK_EQ(recording_info(recording)->end_ns, 71000);
	CHECK_EQ(read_all(recording), 60);
	recording_close(recording);
}

/* A copy of a chunk is that chunk, wherever it lies, and each path counts once. */
TEST(copies_of_chunks_count_once)
{
	const char *one = make_directory(), *two = make_directory();
	const char *const dirs[] = {one, two, one, two};
	struct recording *recording;
	struct chunk_info info;
	char command[16384];

	for (unsigned int i = 0; i < 50; i++)
		make_chunk(one, 1000 + 10000 * i, 10, false, &info);
	snprintf(command, sizeof(command), "cp -r %s/0* %s", one, two);
	CHECK_EQ(system(command), 0);
	CHECK_EQ(unlink(make_path(two, make_path(strrchr(info.path, '/'), ".manifest"))), 0);
	for (size_t count = 1; count <= 4; count++) {
		CHECK_EQ(recording_open(&recording, dirs, count, NULL, NULL), 0);
		CHECK_EQ(recording_info(recording)->chunk_count, 50);
		CHECK_EQ(read_all(recording), 500);
		recording_close(recording);
	}
}

/* By number, and by begin where numbers began anew. */
TEST(only_chunks_that_were_made_later)
{
	const char *dir = make_directory();
	struct recording_options later = {0};
	struct recording *recording;
	struct chunk_info info[3];

	for (unsigned int i = 0; i < 3; i++)
		make_chunk(dir, 1000 + 10000 * i, 10, false, &info[i]);
	for (unsigned int i = 0; i < 2; i++) {
		later.after = info[i].path;
		CHECK_EQ(recording_open(&recording, &dir, 1, &later, NULL), 0);
		CHECK_EQ(recording_info(recording)->chunk_count, 2 - i);
		CHECK_STR(recording_info(recording)->chunks[0].path, info[i + 1].path);
		recording_close(recording);
	}
	later.after = info[2].path;
	CHECK_EQ(recording_open(&recording, &dir, 1, &later, NULL), -ENOENT);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(chunk_remove(info[i].path, NULL), 0);
	make_chunk(dir, 41000, 10, false, &info[0]);
	CHECK_EQ(info[0].seq, 0);
	CHECK_EQ(recording_open(&recording, &dir, 1, &later, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunk_count, 1);
	recording_close(recording);
}

/* The caller can give the number of the next chunk; otherwise it is the next free one. */
TEST(chunks_are_numbered)
{
	struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .seq = 7, .no_sync = true};
	struct chunk_writer *w;

	for (unsigned int i = 0; i < 3; i++) {
		CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
		CHECK_EQ(chunk_writer_seq(w), 7 + i);
		CHECK(strstr(chunk_writer_path(w), i ? "-00000" : "-000007") != NULL);
		chunk_writer_close(w);
		options.seq = i == 0 ? 8 : 0;
	}
}

/* The monotonic clock began anew: the later boot has the earlier times. */
TEST(boots_do_not_mix)
{
	const char *dir = make_directory();
	struct recording_options options = {0};
	struct recording *recording;
	struct error e = {0};

	make_boot(dir, "first", 1000000000000, 9000);
	make_boot(dir, "first", 1000000000100, 9100);
	make_boot(dir, "second", 1000000001000, 500);
	CHECK_EQ(recording_open(&recording, &dir, 1, &options, NULL), 0);
	CHECK_STR(recording_info(recording)->boot_id, "second");
	CHECK_EQ(recording_info(recording)->chunk_count, 1);
	CHECK_EQ(recording_info(recording)->lost.buffer, 1);
	recording_close(recording);
	options.boot = -1;
	CHECK_EQ(recording_open(&recording, &dir, 1, &options, NULL), 0);
	CHECK_STR(recording_info(recording)->boot_id, "first");
	CHECK_EQ(recording_info(recording)->chunk_count, 2);
	CHECK_EQ(recording_info(recording)->lost.buffer, 2);
	recording_close(recording);
	options.boot = -2;
	CHECK_EQ(recording_open(&recording, &dir, 1, &options, &e), -ENOENT);
	CHECK_STR(e.text, "there is no chunk of that boot; the earliest is --boot -1");
}

/* As if the wall clock was set back: chunks of one boot are among those of another. */
TEST(a_boot_among_others_counts_once)
{
	const char *dir = make_directory();
	const char *const latest[] = {"second", "first"};
	struct recording_options options = {0};
	struct recording *recording;
	struct error e = {0};

	make_boot(dir, "first", 1000000001000, 1000);
	make_boot(dir, "second", 1000000010000, 1000);
	make_boot(dir, "first", 1000000050000, 50000);
	make_boot(dir, "second", 1000000100000, 60000);
	for (; options.boot > -2; options.boot--) {
		CHECK_EQ(recording_open(&recording, &dir, 1, &options, NULL), 0);
		CHECK_STR(recording_info(recording)->boot_id, latest[-options.boot]);
		CHECK_EQ(recording_info(recording)->chunk_count, 2);
		recording_close(recording);
	}
	CHECK_EQ(recording_open(&recording, &dir, 1, &options, &e), -ENOENT);
	CHECK_STR(e.text, "there is no chunk of that boot; the earliest is --boot -1");
}

static void strip(const char *dir, const char *name)
{
	char path[8192];

	snprintf(path, sizeof(path), "%s", make_path(dir, name));
	CHECK_EQ(unlink(make_path(path, ".manifest")), 0);
	CHECK_EQ(unlink(make_path(path, "metadata")), 0);
}

/* The clocks of a neighbour give the boot of the chunk; otherwise it is of none. */
TEST(a_chunk_that_lost_manifest_and_metadata)
{
	const char *dir = make_directory();
	struct recording_options options = {0};
	struct recording *recording;

	make_boot(dir, "first", 1000000000000, 9000);
	make_boot(dir, "first", 1000000000100, 9100);
	make_boot(dir, "second", 1100000000000, 500);
	make_boot(dir, "second", 1100000000100, 600);
	strip(dir, "00000001000000000100-00000001000000000200-000001");
	strip(dir, "00000001100000000000-00000001100000000100-000002");
	for (; options.boot > -2; options.boot--) {
		CHECK_EQ(recording_open(&recording, &dir, 1, &options, NULL), 0);
		CHECK_STR(recording_info(recording)->boot_id, options.boot ? "first" : "second");
		CHECK_EQ(recording_info(recording)->chunk_count, 2);
		CHECK_EQ(recording_info(recording)->begin_ns, options.boot ? 9000 : 500);
		CHECK_EQ(recording_info(recording)->end_ns, options.boot ? 9200 : 700);
		recording_close(recording);
	}
	options.boot = 0;
	make_boot(dir, "third", 1200000000000, 700);
	strip(dir, "00000001200000000000-00000001200000000100-000004");
	CHECK_EQ(recording_open(&recording, &dir, 1, &options, NULL), 0);
	CHECK_STR(recording_info(recording)->boot_id, "");
	CHECK_EQ(recording_info(recording)->chunk_count, 1);
	CHECK_EQ(recording_info(recording)->begin_ns, 700);
	recording_close(recording);
}

/* Without records; its streams begin and end one by one. */
static void make_uneven(const char *dir, const struct chunk_info *times)
{
	const struct chunk_clock clock = {.monotonic_ns = times->begin_ns,
					  .unix_ns = 1000000000000 + times->begin_ns};
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = times->begin_ns,
						     .begun_ns = times->begun_ns,
						     .complete_ns = times->complete_ns,
						     .clock = &clock,
						     .no_sync = true};
	struct chunk_writer *w;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	CHECK_EQ(chunk_writer_cut(w, times->end_ns, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, NULL, NULL), 0);
	chunk_writer_close(w);
}

/* The begins of the two that overlap; both 0: none do. */
static void overlap_of(const char *const *dirs, size_t count, uint64_t begins[2])
{
	const struct chunk_info *pair[2];
	struct recording *recording;

	begins[0] = begins[1] = 0;
	CHECK_EQ(recording_open(&recording, dirs, count, NULL, NULL), 0);
	if (recording_overlap(recording, pair)) {
		begins[0] = pair[0]->begin_ns;
		begins[1] = pair[1]->begin_ns;
	}
	recording_close(recording);
}

TEST(two_recorders_at_once_overlap)
{
	const char *one = make_directory(), *two = make_directory();
	const char *const dirs[] = {two, one, two};
	struct chunk_info info;
	uint64_t begins[2];

	make_chunk(one, 1000, 30, false, &info); /* 1000 .. 31000 */
	make_chunk(two, 31000, 10, false, &info);
	make_chunk(one, 41000, 10, false, &info);
	overlap_of(dirs, 3, begins);
	CHECK_EQ(begins[0], 0);
	make_chunk(two, 11000, 10, false, &info); /* inside of the first one */
	make_chunk(two, 30000, 10, false, &info);
	overlap_of(dirs, 1, begins);
	CHECK_EQ(begins[0], 30000);
	CHECK_EQ(begins[1], 31000);
	for (size_t i = 0; i < 2; i++) {
		overlap_of(dirs + i, 2, begins);
		CHECK_EQ(begins[0], 1000);
		CHECK_EQ(begins[1], 11000);
	}
}

TEST(streams_that_are_cut_one_by_one_do_not_overlap)
{
	const char *dir = make_directory(), *other = make_directory();
	const char *const dirs[] = {dir, other};
	uint64_t begins[2];

	make_uneven(dir, &(struct chunk_info){.begin_ns = 1000,
					      .begun_ns = 1000,
					      .complete_ns = 2000,
					      .end_ns = 3000});
	make_uneven(dir, &(struct chunk_info){.begin_ns = 2000,
					      .begun_ns = 3000,
					      .complete_ns = 5000,
					      .end_ns = 5000});
	overlap_of(dirs, 1, begins);
	CHECK_EQ(begins[0], 0);
	make_uneven(other, &(struct chunk_info){.begin_ns = 2500,
						.begun_ns = 2900,
						.complete_ns = 2950,
						.end_ns = 2950});
	overlap_of(dirs, 2, begins);
	CHECK_EQ(begins[0], 2000);
	CHECK_EQ(begins[1], 2500);
}

/* The name says its end by the clock of the next one; when it begins, it may not say at all. */
TEST(a_chunk_without_a_manifest_does_not_overlap)
{
	const char *dir = make_directory();
	struct recording *recording;
	unsigned long long begin, end, seq;
	struct chunk_info a, b;
	char command[16384], *name;
	uint64_t begins[2];

	make_chunk(dir, 1000, 10, false, &a);
	make_chunk(dir, 11000, 10, false, &b);
	CHECK_EQ(unlink(make_path(a.path, ".manifest")), 0);
	name = strrchr(a.path, '/') + 1;
	CHECK_EQ(sscanf(name, "%llu-%llu-%llu", &begin, &end, &seq), 3);
	snprintf(command, sizeof(command), "mv %s %s/%020llu-%020llu-%06llu", a.path, dir, begin,
		 end + 5000, seq);
	CHECK_EQ(system(command), 0);
	overlap_of(&dir, 1, begins);
	CHECK_EQ(begins[1], 0);
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunks[0].end_ns, a.end_ns);
	CHECK_EQ(recording_info(recording)->chunks[0].complete_ns, a.end_ns);
	recording_close(recording);
	CHECK_EQ(unlink(make_path(b.path, ".manifest")), 0);
	snprintf(command, sizeof(command), "sed -i s/offset/beginning/ %s/metadata", b.path);
	CHECK_EQ(system(command), 0);
	overlap_of(&dir, 1, begins);
	CHECK_EQ(begins[1], 0);
}

TEST(damage_stays_with_its_chunk)
{
	const char *dir = make_directory();
	struct chunk_info a, b, found;
	struct recording *recording;

	make_chunk(dir, 1000, 1000, false, &a);
	make_chunk(dir, 1001000, 1000, false, &b);
	CHECK_EQ(truncate(make_path(a.path, "cpu0"), 150), 0);
	CHECK_EQ(unlink(make_path(a.path, "cpu1")), 0);
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	CHECK_EQ(read_all(recording), 1000);
	recording_close(recording);
	make_count(a.path, &found);
	CHECK_EQ(found.lost.damaged, 1000);
	make_count(b.path, &found);
	CHECK_EQ(found.lost.damaged, 0);
}

struct told {
	int count;
	char text[512]; /* the last one */
};

static void on_damage(void *arg, const char *text)
{
	struct told *told = arg;

	told->count++;
	snprintf(told->text, sizeof(told->text), "%s", text);
}

/* How many lines a list of the chunks tells of damage. */
static int list_damage(const char *dir, struct told *told)
{
	const struct recording_options options = {
		.with_open = true, .damage = on_damage, .arg = told};
	struct recording *recording;

	*told = (struct told){0};
	CHECK_EQ(recording_open(&recording, &dir, 1, &options, NULL), 0);
	recording_close(recording);
	return told->count;
}

TEST(a_list_tells_of_files_that_miss)
{
	const char *dir = make_directory();
	struct chunk_info a, b;
	struct told told;
	struct stat st;

	make_chunk(dir, 1000, 1000, false, &a);
	make_chunk(dir, 1001000, 1000, true, &b);
	CHECK_EQ(list_damage(dir, &told), 0);

	CHECK_EQ(stat(make_path(a.path, "cpu0"), &st), 0);
	CHECK_EQ(truncate(make_path(a.path, "cpu0"), st.st_size - 1), 0);
	CHECK_EQ(list_damage(dir, &told), 1);
	CHECK(strstr(told.text, a.path) != NULL);
	CHECK(strstr(told.text, "cpu0: it has ") != NULL);
	CHECK_EQ(truncate(make_path(a.path, "cpu0"), st.st_size), 0);
	CHECK_EQ(list_damage(dir, &told), 0); /* what is in it is not looked at */

	CHECK_EQ(unlink(make_path(b.path, "cpu1.zst")), 0);
	CHECK_EQ(unlink(make_path(b.path, "cpu0.zst")), 0);
	CHECK_EQ(list_damage(dir, &told), 1); /* one line for a chunk */
	CHECK(strstr(told.text, b.path) != NULL);
	CHECK(strstr(told.text, "is missing") != NULL);
}

TEST(nothing_there)
{
	const char *dir = make_directory();
	struct recording *recording;
	struct error e = {0};

	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, &e), -ENOENT);
	CHECK(e.text[0] != '\0');
}

/* Cut at any place, the parts together are the whole. */
TEST(recut_parts_are_the_whole)
{
	const char *dir = make_directory(), *parts = make_directory();
	const struct chunk_writer_options options = {.dir = parts, .no_sync = true};
	const struct record_head *x, *y;
	struct make_walk walk_a = {0}, walk_b = {0};
	struct recording *a, *b;
	struct chunk_info info, part;
	uint64_t state = 3, from = 1000;

	make_chunk(dir, 1000, 1000, false, &info);
	while (from < info.end_ns) {
		uint64_t to = from + 1 + make_random(&state) % 200000;
		struct recut_range range;

		to = to > info.end_ns ? info.end_ns : to;
		for (int i = 0; i < RECUT_CPUS; i++) {
			range.from_ns[i] = from;
			range.to_ns[i] = to;
		}
		CHECK_EQ(recut(info.path, &options, &range, &part, NULL), 0);
		CHECK_EQ(part.begin_ns, from);
		CHECK_EQ(part.end_ns, to);
		from = to;
	}
	CHECK_EQ(recording_open(&a, &dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_open(&b, &parts, 1, NULL, NULL), 0);
	CHECK(recording_info(b)->chunk_count > 3);
	CHECK_STR(recording_info(b)->boot_id, info.boot_id);
	walk_a.info = recording_info(a);
	walk_b.info = recording_info(b);
	for (int i = 0; i < 1000; i++) {
		CHECK(make_walk_next(&walk_a, &x));
		CHECK(make_walk_next(&walk_b, &y));
		CHECK(make_same(x, y));
	}
	CHECK(!make_walk_next(&walk_a, &x));
	CHECK(!make_walk_next(&walk_b, &y));
	recording_close(a);
	recording_close(b);
}

TEST_MAIN()
