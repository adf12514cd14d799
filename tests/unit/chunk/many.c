/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of thousands of streams, in little memory. */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "make.h"
#include "tests/unit/check.h"

#define STREAMS 3000u
#define ADDRESS_BYTES ((rlim_t)4 << 30)

static struct chunk_writer *writer_open(bool compress)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .compress = compress, .no_sync = true};
	struct chunk_writer *w;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	return w;
}

static void writer_end(struct chunk_writer *w, struct chunk_info *info)
{
	CHECK_EQ(chunk_writer_cut(w, 1000000000, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, info, NULL), 0);
	chunk_writer_close(w);
}

/* Those of each program begin at the same time. */
static void fill(struct chunk_writer *w, uint32_t number, unsigned int records)
{
	struct chunk_stream *s = chunk_writer_stream(w, CHUNK_STREAM_APP, number);
	union make_record r;

	for (unsigned int i = 0; i < records; i++) {
		make_syscall(&r, 2000 + 100 * i, 0, i);
		r.head.cpu = 0xffff;
		r.head.tid = r.head.pid = number;
		CHECK_EQ(chunk_writer_add(s, &r.head), 0);
	}
}

static struct rlimit limit_addresses(void)
{
	struct rlimit had, few;

#ifdef __SANITIZE_ADDRESS__
	SKIP("the sanitizer's own map takes more");
#endif
	CHECK_EQ(getrlimit(RLIMIT_AS, &had), 0);
	few = (struct rlimit){ADDRESS_BYTES, had.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_AS, &few), 0);
	return had;
}

/* As many programs may have told a few spans in one chunk. */
TEST(thousands_of_compressed_streams_are_read)
{
	const struct record_head *record;
	struct chunk_writer *w = writer_open(true);
	struct chunk_reader *reader;
	struct chunk_info info;
	struct rlimit had;
	uint64_t n = 0;
	int got;

	for (uint32_t i = 0; i < STREAMS; i++)
		fill(w, i + 1, i % 10 ? 20 : 1000);
	writer_end(w, &info);
	had = limit_addresses();
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	CHECK_EQ(chunk_reader_streams(reader), STREAMS);
	while ((got = chunk_reader_next(reader, &record, NULL)) == 1)
		n++;
	CHECK_EQ(got, 0);
	CHECK_EQ(n, STREAMS / 10 * (9 * 20 + 1000));
	CHECK(chunk_reader_damage(reader) == NULL);
	chunk_reader_close(reader);
	CHECK_EQ(setrlimit(RLIMIT_AS, &had), 0);
}

#define PROGRAMS (CHUNK_STREAMS_MAX + 3)

/* A build has as many short-lived ones; a few of them tell much. */
TEST(programs_share_a_stream_when_there_are_too_many)
{
	const unsigned int long_records = 6000;
	static uint32_t seen[PROGRAMS + 1];
	const struct record_head *record;
	struct chunk_writer *w = writer_open(false);
	struct chunk_reader *reader;
	struct chunk_info info;
	uint64_t last_ns = 0;

	for (uint32_t i = 1; i <= PROGRAMS; i++)
		fill(w, i, i > PROGRAMS - 3 ? long_records : 1);
	writer_end(w, &info);
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	CHECK_EQ(chunk_reader_streams(reader), CHUNK_PROGRAMS_MAX); /* none came late */
	while (chunk_reader_next(reader, &record, NULL) == 1) {
		CHECK(record->time_ns >= last_ns);
		last_ns = record->time_ns;
		CHECK(record->pid >= 1 && record->pid <= PROGRAMS);
		seen[record->pid]++;
	}
	CHECK(chunk_reader_damage(reader) == NULL);
	CHECK_EQ(chunk_reader_info(reader)->lost.damaged, 0);
	for (uint32_t i = 1; i <= PROGRAMS; i++)
		CHECK_EQ(seen[i], i > PROGRAMS - 3 ? long_records : 1);
	chunk_reader_close(reader);
}

/* A file of a few kilobytes may ask for a window and packets of its own, and there are many. */
TEST(what_many_files_ask_for_is_bounded)
{
	const struct record_head *record;
	struct chunk_writer *w = writer_open(true);
	struct chunk_reader *reader;
	struct chunk_info info;
	struct rlimit had;
	char one[4400];

	fill(w, 1, 100000);
	writer_end(w, &info);
	snprintf(one, sizeof(one), "%s", make_path(info.path, "app-1.zst"));
	for (uint32_t i = 2; i <= STREAMS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "app-%u.zst", i);
		CHECK_EQ(link(one, make_path(info.path, name)), 0);
	}
	CHECK_EQ(unlink(make_path(info.path, ".manifest")), 0); /* what lies there is read */
	had = limit_addresses();
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	CHECK_EQ(chunk_reader_streams(reader), STREAMS);
	for (int i = 0; i < 10000; i++)
		CHECK_EQ(chunk_reader_next(reader, &record, NULL), 1);
	CHECK(chunk_reader_damage(reader) != NULL);
	chunk_reader_close(reader);
	CHECK_EQ(setrlimit(RLIMIT_AS, &had), 0);
}

TEST_MAIN()
