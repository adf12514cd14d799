/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts, the sealer's thread, losses, a full disk. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "make.h"
#include "tests/unit/check.h"

struct sealed {
	unsigned int count;
	uint64_t records;
	int err;
	struct chunk_info infos[16];
};

static void on_sealed(void *arg, int err, const struct chunk_info *info, const struct error *e)
{
	struct sealed *s = arg;

	if (err)
		s->err = err;
	else if (s->count < 16)
		s->infos[s->count] = *info;
	s->count++;
	s->records += info->records;
}

/* Ten chunks of 1,000 records, cut while later records lie in the window already. */
TEST(a_rotation_takes_no_record_away)
{
	struct chunk_writer_options options = {.dir = make_directory(), .begin_ns = 1000};
	struct sealed sealed = {0};
	struct chunk_sealer *sealer;
	struct chunk_writer *w, *next;
	const struct record_head *record;
	struct recording *recording;
	struct make_walk walk = {0};
	union make_record r;
	uint64_t expected = 0;

	CHECK_EQ(chunk_sealer_open(&sealer, on_sealed, &sealed, NULL), 0);
	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	for (unsigned int i = 0; i < 10000; i++) {
		make_syscall(&r, 1000 + i, i % 3, i);
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, i % 3), &r.head),
			 0);
		if (i % 1000 != 999 || i == 9999)
			continue;
		options.begin_ns = 1000 + i - 50;
		CHECK_EQ(chunk_writer_open(&next, &options, NULL), 0);
		CHECK_EQ(chunk_writer_cut(w, options.begin_ns, next, NULL), 0);
		CHECK_EQ(chunk_sealer_push(sealer, w), 0);
		w = next;
	}
	CHECK_EQ(chunk_writer_cut(w, 11000, NULL, NULL), 0);
	CHECK_EQ(chunk_sealer_push(sealer, w), 0);
	chunk_sealer_close(sealer);
	CHECK_EQ(sealed.count, 10);
	CHECK_EQ(sealed.err, 0);

	CHECK_EQ(recording_open(&recording, &options.dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunk_count, 10);
	CHECK_EQ(recording_info(recording)->gap_count, 0);
	walk.info = recording_info(recording);
	while (make_walk_next(&walk, &record)) {
		CHECK_EQ(record->time_ns, 1000 + expected);
		expected++;
	}
	CHECK_EQ(expected, 10000);
	for (unsigned int i = 0; i + 1 < 10; i++)
		CHECK_EQ(sealed.infos[i].end_ns, sealed.infos[i + 1].begin_ns);
	recording_close(recording);
}

TEST(what_comes_after_the_last_cut_is_counted)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	struct chunk_writer *w;
	struct chunk_info info;
	union make_record r;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	for (unsigned int i = 0; i < 10; i++) {
		make_syscall(&r, 1000 + i, 0, i);
		chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head);
	}
	CHECK_EQ(chunk_writer_cut(w, 1006, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_cut(w, 1006, NULL, NULL), -EINVAL);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), -EINVAL);
	chunk_writer_close(w);
	CHECK_EQ(info.lost.buffer, 4);
	CHECK_EQ(make_count(info.path, &info), 7);
}

TEST(losses_are_carried_by_class)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	struct chunk_writer *w;
	struct chunk_stream *cpu, *app;
	struct chunk_info info;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 2); /* it has losses only */
	app = chunk_writer_stream(w, CHUNK_STREAM_APP, 99);
	CHECK_EQ(make_lost(cpu, LOST_buffer, 5, 1000, 1100), 0);
	CHECK_EQ(make_lost(cpu, LOST_recursion, 3, 1000, 1200), 0);
	CHECK_EQ(make_lost(app, LOST_application, 2, 1000, 1300), 0);
	CHECK_EQ(make_lost(app, LOST_application, 0, 1000, 1300), 0);
	chunk_writer_incomplete(w, 4);
	CHECK_EQ(chunk_writer_cut(w, 2000, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(make_count(info.path, &info), 3);
	CHECK_EQ(info.lost.buffer, 5);
	CHECK_EQ(info.lost.recursion, 3);
	CHECK_EQ(info.lost.application, 2);
	CHECK_EQ(info.lost.damaged, 0);
	CHECK_EQ(info.incomplete, 4);
}

/* A file may grow to `limit` bytes: as if the disk were full behind it. */
static void limit_files(rlim_t limit)
{
	struct rlimit r;

	getrlimit(RLIMIT_FSIZE, &r);
	r.rlim_cur = limit;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &r);
}

TEST(what_the_disk_refuses_is_counted)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	struct chunk_writer *w;
	struct chunk_stream *cpu;
	struct chunk_info info;
	struct error e = {0};
	union make_record r;
	uint64_t read;
	int failed = 0;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	for (unsigned int i = 0; i < 4000; i++) {
		make_syscall(&r, 1000 + i, 0, i);
		CHECK_EQ(chunk_writer_add(cpu, &r.head), 0);
		if (i % 100 == 99) {
			limit_files(i > 1000 && i < 3000 ? 25000 : RLIM_INFINITY);
			failed += chunk_writer_flush(w, 1000 + i, &e) == -EFBIG;
		}
	}
	limit_files(RLIM_INFINITY);
	CHECK(failed > 5);
	CHECK_EQ(chunk_writer_cut(w, 6000, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK(info.lost.buffer > 500);
	read = make_count(info.path, &info);
	CHECK_EQ(info.lost.damaged, 0);
	/* each that was added was read or counted; lost records stand among the read */
	CHECK(read + info.lost.buffer >= 4000);
	CHECK(read + info.lost.buffer <= 4000 + 2 * 40);
}

TEST(one_recorder_in_a_directory)
{
	const char *dir = make_directory();
	struct error e = {0};
	struct recording_hold lock, other = {-1, -1};

	CHECK_EQ(recording_lock(dir, NULL, &lock, &e), 0);
	CHECK_EQ(recording_lock(dir, NULL, &other, &e), -EBUSY);
	CHECK_EQ(other.lock, -1);
	CHECK(strstr(e.text, dir) != NULL);
	recording_unlock(&lock);
	CHECK_EQ(recording_lock(dir, NULL, &lock, &e), 0);
	recording_unlock(&lock);
}

TEST_MAIN()
