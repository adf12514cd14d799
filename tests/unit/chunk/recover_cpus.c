/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of CPUs after a crash: the time up to which a recovered chunk is complete. */
#include <errno.h>
#include <sys/stat.h>

#include "chunk/format.h"
#include "chunk/manifest.h"
#include "make.h"
#include "tests/unit/check.h"

static struct chunk_info found;

static void on_recovered(void *arg, const struct chunk_info *info, const struct error *why)
{
	CHECK(info);
	if (info)
		found = *info;
}

/* A CPU of which nothing was written yet misses the whole chunk. */
TEST(a_cpu_without_a_packet)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	struct chunk_writer *w = make_begun(&options, CHUNK_STREAM_CPU);
	struct recording *recording;
	struct chunk_info info;
	union make_record r;
	char path[8192];

	make_syscall(&r, 1030, 1, 1);
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 1), &r.head), 0);
	CHECK_EQ(chunk_writer_flush(w, 1040, NULL), 0);
	snprintf(path, sizeof(path), "%s/cpu1", chunk_writer_path(w));
	chunk_writer_close(w);
	CHECK_EQ(truncate(path, 0), 0);
	CHECK_EQ(recording_recover(options.dir, NULL, on_recovered, NULL, NULL), 1);
	CHECK_EQ(make_count(found.path, &info), 1);
	make_chunk(options.dir, 9000, 10, false, &info);
	CHECK_EQ(recording_open(&recording, &options.dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->gap_count, 1);
	CHECK_EQ(recording_info(recording)->gaps[0].from_ns, 1000);
	recording_close(recording);
}

/* No CPU ends before another one does: it is complete up to its end, and not beyond. */
TEST(a_chunk_without_a_cpu_is_complete_to_its_end)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	struct chunk_writer *w = make_begun(&options, CHUNK_STREAM_LIFE);

	CHECK_EQ(chunk_writer_flush(w, 1040, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(recording_recover(options.dir, NULL, on_recovered, NULL, NULL), 1);
	CHECK(found.end_ns > 1010 && found.end_ns <= 1041);
	CHECK_EQ(found.complete_ns, found.end_ns);
}

/* Each stream is there from the begin on: one that is gone, or empty, is missed. */
TEST(a_cpu_that_a_crash_took)
{
	for (int how = 0; how < 3; how++) {
		const char *dir = make_directory();
		const struct chunk_writer_options options = {
			.dir = dir, .begin_ns = 1000, .cpus = "0-1", .no_sync = true};
		struct chunk_writer *w;
		const char *path;
		union make_record r;
		struct error e = {0};

		CHECK_EQ(chunk_writer_open(&w, &options, &e), 0);
		make_syscall(&r, 2000, 0, 7);
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head), 0);
		CHECK_EQ(chunk_writer_flush(w, 3000, &e), 0);
		path = make_path(chunk_writer_path(w), "cpu1");
		if (how == 1)
			CHECK_EQ(truncate(path, 0), 0);
		else if (how == 2)
			CHECK_EQ(unlink(path), 0);
		chunk_writer_close(w);
		CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, &e), 1);
		CHECK_EQ(found.end_ns, 3001);
		CHECK_EQ(found.complete_ns, how ? 1000 : 3001);
	}
}

/* CPU 1 is offline at the begin; comes it later, that makes up for no other one. */
TEST(a_cpu_that_a_crash_took_beside_one_offline)
{
	for (int how = 0; how < 3; how++) {
		const char *dir = make_directory();
		const struct chunk_writer_options options = {
			.dir = dir, .begin_ns = 1000, .cpus = "0,2", .no_sync = true};
		struct chunk_writer *w;
		union make_record r;
		struct error e = {0};
		struct stat st;

		CHECK_EQ(chunk_writer_open(&w, &options, &e), 0);
		CHECK_EQ(stat(make_path(chunk_writer_path(w), "cpu0"), &st), 0);
		CHECK_EQ(stat(make_path(chunk_writer_path(w), "cpu1"), &st), -1);
		CHECK_EQ(stat(make_path(chunk_writer_path(w), "cpu2"), &st), 0);
		make_syscall(&r, 2000, how ? 1 : 0, 7);
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, r.head.cpu),
					  &r.head),
			 0);
		CHECK_EQ(chunk_writer_flush(w, 3000, &e), 0);
		if (how == 2)
			CHECK_EQ(unlink(make_path(chunk_writer_path(w), "cpu2")), 0);
		chunk_writer_close(w);
		CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, &e), 1);
		CHECK_EQ(found.cpus, 2);
		CHECK_STR(found.cpu_list, "0,2");
		CHECK_EQ(found.end_ns, 3001);
		CHECK_EQ(found.complete_ns, how == 2 ? 1000 : 3001);
	}
}

/* Records of CPU 0, one each nanosecond, many more than a packet has. */
static void run_busy(struct chunk_writer *w, uint64_t from_ns, uint64_t to_ns)
{
	union make_record r;

	for (uint64_t ns = from_ns; ns < to_ns; ns++) {
		make_syscall(&r, ns, 0, ns);
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head), 0);
	}
}

static void add_of_program(struct chunk_writer *w, uint64_t ns)
{
	union make_record r;

	make_syscall(&r, ns, PACKET_NO_CPU, ns);
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_APP, 7), &r.head), 0);
}

/* Reads the only chunk, recovered or not. */
static struct chunk_info only_chunk(const char *dir)
{
	struct recording *recording;
	struct chunk_info info;

	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunk_count, 1);
	info = recording_info(recording)->chunks[0];
	recording_close(recording);
	return info;
}

/* A chunk of two CPUs from 1000 to 3001, sealed or as a crash leaves it. Its path. */
static const char *of_two_cpus(const char *dir, const char *list, bool sealed)
{
	const struct chunk_writer_options options = {
		.dir = dir, .begin_ns = 1000, .cpus = list, .no_sync = true};
	static char path[8192];
	struct chunk_writer *w;
	struct chunk_info info;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	run_busy(w, 2000, 2010);
	CHECK_EQ(chunk_writer_flush(w, 3000, NULL), 0);
	snprintf(path, sizeof(path), "%s", chunk_writer_path(w));
	if (sealed) {
		CHECK_EQ(chunk_writer_cut(w, 3001, NULL, NULL), 0);
		CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
		snprintf(path, sizeof(path), "%s", info.path);
	}
	chunk_writer_close(w);
	return path;
}

/* A chunk of an older writer. */
static void tell_no_cpus(const char *chunk)
{
	char command[8400];

	snprintf(command, sizeof(command), "sed -i '/^.cpus = /d' %s/" METADATA_NAME, chunk);
	CHECK_EQ(system(command), 0);
}

/* The metadata says which streams are due, too; where nothing does, any may be missing. */
TEST(a_cpu_that_is_gone_with_the_manifest)
{
	enum { WHOLE, NO_CPU, OLD, NO_METADATA, CASES };

	for (int i = 0; i < 4 * CASES; i++) {
		int how = i / 4;
		bool plain = i & 1, sealed = i & 2;
		const char *dir = make_directory();
		const char *path = of_two_cpus(dir, plain ? "0-1" : "0,2", sealed);
		struct chunk_info info;

		CHECK_EQ(unlink(make_path(path, MANIFEST_NAME)), 0);
		if (how == NO_CPU)
			CHECK_EQ(unlink(make_path(path, plain ? "cpu1" : "cpu2")), 0);
		if (how == OLD)
			tell_no_cpus(path);
		if (how == NO_METADATA)
			CHECK_EQ(unlink(make_path(path, METADATA_NAME)), 0);
		info = only_chunk(dir);
		CHECK_EQ(info.end_ns, 3001);
		CHECK_EQ(info.complete_ns, how == WHOLE ? 3001 : info.begin_ns);
		CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), !sealed);
		CHECK_EQ(make_count(sealed ? path : found.path, &info), 10);
		if (sealed)
			continue;
		CHECK_EQ(found.end_ns, 3001);
		CHECK_EQ(found.complete_ns, how == WHOLE ? 3001 : found.begin_ns);
		/* what it is told in stays so, and is found again */
		CHECK_EQ(unlink(make_path(found.path, MANIFEST_NAME)), 0);
		info = only_chunk(dir);
		CHECK_EQ(info.complete_ns, how == WHOLE ? 3001 : info.begin_ns);
	}
}

/*
 * Packets of a busy CPU go to its file as they fill; what programs told meanwhile is in memory. A
 * program that says nothing has lost nothing.
 */
TEST(a_chunk_is_complete_to_where_all_was_flushed)
{
	enum { BUSY, FLUSHED, CUT, REFUSED, CASES };

	for (int how = 0; how < CASES; how++) {
		const struct chunk_writer_options options = {
			.dir = make_directory(), .begin_ns = 1000, .cpus = "0", .no_sync = true};
		struct chunk_writer *w;
		struct chunk_info info;

		CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
		run_busy(w, 1000, 2000);
		add_of_program(w, 1500);
		CHECK_EQ(chunk_writer_flush(w, 2000, NULL), 0);
		if (how == BUSY)
			add_of_program(w, 2500);
		run_busy(w, 2000, 60000);
		if (how == FLUSHED)
			CHECK_EQ(chunk_writer_flush(w, 60000, NULL), 0);
		if (how == CUT)
			CHECK_EQ(chunk_writer_cut(w, 60001, NULL, NULL), 0);
		if (how == REFUSED) {
			add_of_program(w, 2500);
			CHECK_EQ(unlink(make_path(chunk_writer_path(w), "app-7")), 0);
			CHECK_EQ(chunk_writer_flush(w, 60000, NULL), -ENOENT);
		}
		chunk_writer_close(w);
		info = only_chunk(options.dir);
		CHECK(info.end_ns > 40000);
		CHECK_EQ(info.complete_ns, how == FLUSHED || how == CUT ? 60001 : 2000);
		CHECK_EQ(info.complete_ns == info.end_ns, how == FLUSHED || how == CUT);
		CHECK_EQ(recording_recover(options.dir, NULL, on_recovered, NULL, NULL), 1);
		CHECK_EQ(found.complete_ns, info.complete_ns);
		CHECK_EQ(found.end_ns, info.end_ns);
	}
}

/* It may tell of any time since, whatever others have told. */
TEST(a_chunk_is_no_more_complete_without_its_manifest)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .cpus = "0", .no_sync = true};
	struct record_name name = {.head = {.kind = RECORD_name, .tid = 7, .pid = 7}};
	struct chunk_writer *w;
	struct chunk_info info;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	run_busy(w, 2000, 2010);
	run_busy(w, 40000, 50000);
	name.head.time_ns = 50000;
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_LIFE, 0), &name.head), 0);
	chunk_writer_complete(w, 30000); /* who stands in the middle of a record since */
	CHECK_EQ(chunk_writer_cut(w, 60001, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(info.complete_ns, 30000);
	CHECK_EQ(unlink(make_path(info.path, MANIFEST_NAME)), 0);
	CHECK(only_chunk(options.dir).complete_ns <= 30000);
}

TEST_MAIN()
