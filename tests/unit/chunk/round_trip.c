/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "make.h"
#include "tests/unit/check.h"

#define COUNT 20000u
#define BEGIN 1000000000u

static union make_record *all;

static int by_time(const void *a, const void *b)
{
	const struct record_head *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* Records of all kinds in many streams, a little out of order; times are unique. */
static void make_all(void)
{
	uint64_t state = 1;

	all = calloc(COUNT, sizeof(*all));
	for (unsigned int i = 0; i < COUNT; i++) {
		unsigned int kind = 1 + (unsigned int)(make_random(&state) % 28);
		uint64_t disorder = i / 8 * 5 % 8; /* a permutation of each eight */

		if (kind == RECORD_lost)
			kind = RECORD_switch;
		make_any(&all[i], kind, BEGIN + 100000ull * (i ^ disorder), &state);
		all[i].head.cpu = i % 5 == 4 ? 0xffff : i % 5;
	}
}

static struct chunk_stream *stream_of(struct chunk_writer *w, const struct record_head *record)
{
	if (record->cpu == 0xffff)
		return chunk_writer_stream(w, CHUNK_STREAM_APP, 100 + record->tid % 3);
	return chunk_writer_stream(w, CHUNK_STREAM_CPU, record->cpu);
}

static void write_all(const char *dir, bool compress, struct chunk_info *info)
{
	const struct chunk_writer_options options = {
		.dir = dir, .begin_ns = BEGIN, .compress = compress};
	struct chunk_writer *w;
	struct error e = {0};

	CHECK_EQ(chunk_writer_open(&w, &options, &e), 0);
	for (unsigned int i = 0; i < COUNT; i++) {
		CHECK_EQ(chunk_writer_add(stream_of(w, &all[i].head), &all[i].head), 0);
		if (i % 1000 == 999)
			CHECK_EQ(chunk_writer_flush(w, BEGIN + 100000ull * (i - 8), &e), 0);
	}
	CHECK_EQ(chunk_writer_cut(w, BEGIN + 100000ull * (COUNT + 8), NULL, &e), 0);
	CHECK_EQ(chunk_writer_seal(w, info, &e), 0);
	chunk_writer_close(w);
}

static void check_all(const char *path)
{
	const struct record_head *record;
	struct chunk_reader *r;
	struct error e = {0};

	CHECK_EQ(chunk_reader_open(&r, path, &e), 0);
	for (unsigned int i = 0; i < COUNT; i++) {
		CHECK_EQ(chunk_reader_next(r, &record, &e), 1);
		if (!make_same(&all[i].head, record))
			CHECK_FAIL("record %u of kind %u differs", i, all[i].head.kind);
	}
	CHECK_EQ(chunk_reader_next(r, &record, &e), 0);
	CHECK_EQ(chunk_reader_next(r, &record, &e), 0);
	CHECK(memcmp(&chunk_reader_info(r)->lost, &(struct chunk_lost){0},
		     sizeof(struct chunk_lost)) == 0);
	CHECK(chunk_reader_damage(r) == NULL);
	chunk_reader_close(r);
}

static void round_trip(bool compress)
{
	const char *dir = make_directory();
	struct chunk_info info;

	make_all();
	write_all(dir, compress, &info);
	CHECK_EQ(info.state, CHUNK_SEALED);
	CHECK_EQ(info.begin_ns, BEGIN);
	CHECK(info.records >= COUNT);
	qsort(all, COUNT, sizeof(*all), by_time);
	check_all(info.path);
	free(all);
}

TEST(all_comes_back_sorted)
{
	round_trip(false);
}

TEST(all_comes_back_from_zstd)
{
	round_trip(true);
}

TEST(a_late_record_keeps_its_time)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	const struct record_head *record;
	struct chunk_stream *cpu;
	struct chunk_writer *w;
	struct chunk_reader *r;
	struct chunk_info info;
	union make_record a;
	const uint64_t times[] = {900, 950, 1500, 2000, 3000};

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 1);
	make_syscall(&a, 2000, 1, 0);
	CHECK_EQ(chunk_writer_add(cpu, &a.head), 0);
	CHECK_EQ(chunk_writer_flush(w, 2500, NULL), 0);
	for (int i = 0; i < 5; i++) {
		const int order[] = {4, 2, 1, 0};

		if (i == 4)
			break;
		a.head.time_ns = times[order[i]];
		CHECK_EQ(chunk_writer_add(cpu, &a.head), 0);
	}
	CHECK_EQ(chunk_writer_cut(w, 4000, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	CHECK_EQ(chunk_reader_streams(r), 2);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(chunk_reader_next(r, &record, NULL), 1);
		CHECK_EQ(record->time_ns, times[i]);
		CHECK_EQ(record->cpu, 1);
	}
	CHECK_EQ(chunk_reader_next(r, &record, NULL), 0);
	chunk_reader_close(r);
}

/*
 * A program can write any time into its ring: each record of half a million is older than the
 * one before it. A sort that goes back record by record takes minutes, and the test its timeout.
 */
TEST(falling_times_cost_little)
{
	enum { N = 500000 };
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 2 * N, .no_sync = true};
	struct record_lost r = {.head = {.kind = RECORD_lost, .slots = 1, .cpu = 0xffff},
				.count = 1,
				.begin_ns = UINT64_MAX};
	const struct record_head *record;
	struct chunk_stream *app;
	struct chunk_writer *w;
	struct chunk_reader *reader;
	struct chunk_info info;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	app = chunk_writer_stream(w, CHUNK_STREAM_APP, 7);
	for (unsigned int i = 0; i < 2 * N; i++) {
		/* late ones, two of each time, and such that are not */
		r.head.time_ns = i % 2 ? 4ull * N - i : N - i / 4;
		r.head.tid = i;
		CHECK_EQ(chunk_writer_add(app, &r.head), 0);
	}
	CHECK_EQ(chunk_writer_cut(w, 8ull * N, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	for (unsigned int i = 0; i < 2 * N; i++) {
		u64 last_ns = i ? r.head.time_ns : 0;
		u32 last_tid = r.head.tid;

		CHECK_EQ(chunk_reader_next(reader, &record, NULL), 1);
		r.head = *record;
		CHECK(record->time_ns > last_ns ||
		      (record->time_ns == last_ns && record->tid > last_tid));
	}
	CHECK_EQ(chunk_reader_next(reader, &record, NULL), 0);
	chunk_reader_close(reader);
}

TEST(short_records_read_as_zero_behind)
{
	struct {
		unsigned char bytes[64];
	} slot;
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1, .no_sync = true};
	const struct record_head *record;
	const struct record_syscall *s;
	struct chunk_writer *w;
	struct chunk_reader *r;
	struct chunk_info info;
	union make_record a;

	make_syscall(&a, 10, 0, 77);
	a.head.slots = 1;
	memcpy(&slot, &a, sizeof(slot));
	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0),
				  (const struct record_head *)&slot),
		 0);
	CHECK_EQ(chunk_writer_cut(w, 20, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	CHECK_EQ(chunk_reader_next(r, &record, NULL), 1);
	s = (const struct record_syscall *)record;
	CHECK_EQ(s->result, 77);
	CHECK_EQ(s->arg0, 3);
	CHECK_EQ(s->arg5, 0);
	CHECK_EQ(s->file.key, 0);
	chunk_reader_close(r);
}

TEST(nonsense_is_refused_and_counted)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1, .no_sync = true};
	struct chunk_writer *w;
	struct chunk_info info;
	union make_record a;
	struct chunk_stream *cpu;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	make_syscall(&a, 10, 0, 77);
	a.head.kind = RECORD_KIND_MAX + 1;
	CHECK_EQ(chunk_writer_add(cpu, &a.head), -EINVAL);
	a.head.kind = RECORD_file_entry;
	CHECK_EQ(chunk_writer_add(cpu, &a.head), -EINVAL);
	CHECK_EQ(chunk_writer_cut(w, 20, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(info.lost.buffer, 2);
	CHECK_EQ(make_count(info.path, &info), 1); /* the lost record */
	CHECK_EQ(info.lost.buffer, 2);
}

TEST(long_silence_keeps_times)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1, .no_sync = true};
	const uint64_t times[] = {5, 5 + 0xffffffffull, 5 + 0xffffffffull * 2 + 1,
				  5 + 0xffffffffull * 9};
	const struct record_head *record;
	struct chunk_writer *w;
	struct chunk_reader *r;
	struct chunk_info info;
	union make_record a;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	for (int i = 0; i < 4; i++) {
		make_syscall(&a, times[i], 0, 0);
		chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &a.head);
	}
	CHECK_EQ(chunk_writer_cut(w, times[3] + 1, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(chunk_reader_next(r, &record, NULL), 1);
		CHECK_EQ(record->time_ns, times[i]);
	}
	chunk_reader_close(r);
}

TEST_MAIN()
