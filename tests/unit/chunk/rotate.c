/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts, the sealer's thread, losses, a full disk. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "chunk/format.h"
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

/* The first chunk that is sealed waits until all have been pushed. */
struct jam {
	pthread_mutex_t lock;
	atomic_uint reached;
	unsigned int sealed, plain;
	uint64_t bytes[16];
};

static void on_jammed(void *arg, int err, const struct chunk_info *info, const struct error *e)
{
	struct jam *jam = arg;

	(void)e;
	CHECK_EQ(err, 0);
	jam->reached++;
	pthread_mutex_lock(&jam->lock);
	jam->plain += info->plain;
	if (jam->sealed < 16)
		jam->bytes[jam->sealed++] = info->bytes;
	pthread_mutex_unlock(&jam->lock);
}

TEST(what_waits_for_the_sealer_is_not_compressed)
{
	struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .compress = true, .no_sync = true};
	struct jam jam = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct chunk_sealer *sealer;
	struct chunk_writer *w;
	union make_record r;

	CHECK_EQ(chunk_sealer_open(&sealer, on_jammed, &jam, NULL), 0);
	pthread_mutex_lock(&jam.lock);
	for (unsigned int n = 0; n < 12; n++) {
		CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
		for (unsigned int i = 0; i < 1000; i++) {
			make_syscall(&r, 1000 + i, 0, i);
			chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head);
		}
		CHECK_EQ(chunk_writer_cut(w, 3000, NULL, NULL), 0);
		CHECK_EQ(chunk_sealer_push(sealer, w), 0);
		while (n == 0 && !jam.reached)
			usleep(100);
	}
	pthread_mutex_unlock(&jam.lock);
	chunk_sealer_close(sealer);
	CHECK_EQ(jam.sealed, 12);
	CHECK_EQ(jam.plain, 12 - 1 - 5); /* the last one waits for none, the fifth last for four */
	for (unsigned int n = 0; n < 12; n++)
		CHECK_EQ(jam.bytes[n] > 2 * jam.bytes[0], n > 0 && n < 12 - 5);
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
	CHECK_EQ(make_lost(app, LOST_application, 0, 1300, 1300), 0);
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

#define REFUSED_BEGIN_NS 1000u
#define REFUSED_RECORDS 12000u
#define REFUSED_CUT_NS 15000u
#define NEVER REFUSED_RECORDS

/* A record at each nanosecond, some of which the disk refuses. */
struct refused {
	bool seen[REFUSED_RECORDS];
	bool in_doubt[REFUSED_RECORDS];
	uint64_t read, counted, told; /* counted by manifests, told by records */
	uint64_t last_ns;	      /* of the record read last */
};

static void refused_take(struct refused *f, const struct record_head *record)
{
	const struct record_lost *lost = (const void *)record;

	if (record->kind == RECORD_syscall) {
		f->seen[record->time_ns - REFUSED_BEGIN_NS] = true;
		f->read++;
		f->last_ns = record->time_ns;
		return;
	}
	CHECK_EQ(record->kind, RECORD_lost);
	CHECK_EQ(record->cpu, 0);
	if (lost->count == LOST_BEGINS)
		return;
	CHECK(!f->seen[lost->begin_ns - REFUSED_BEGIN_NS]);
	CHECK(lost->begin_ns < record->time_ns);
	CHECK(lost->begin_ns > f->last_ns); /* it comes first: what follows is seen again */
	for (uint64_t i = lost->begin_ns;
	     i <= record->time_ns && i < REFUSED_BEGIN_NS + REFUSED_RECORDS; i++)
		f->in_doubt[i - REFUSED_BEGIN_NS] = true;
	f->told += lost->count;
}

static void refused_read(struct refused *f, const struct chunk_info *info)
{
	const struct record_head *record;
	struct chunk_reader *reader;

	CHECK_EQ(chunk_reader_open(&reader, info->path, NULL), 0);
	while (chunk_reader_next(reader, &record, NULL) > 0)
		refused_take(f, record);
	CHECK(chunk_reader_damage(reader) == NULL);
	chunk_reader_close(reader);
	f->counted += info->lost.buffer;
}

/* Each record was read, or it is told that something is missing there; and each counts once. */
static void refused_check(const struct refused *f, uint64_t complete_ns)
{
	for (unsigned int i = 0; i < REFUSED_RECORDS; i++)
		CHECK(f->seen[i] || f->in_doubt[i] || REFUSED_BEGIN_NS + i >= complete_ns);
	CHECK_EQ(f->read + f->counted, REFUSED_RECORDS);
}

/* Records [from, to), flushed by 100; of those from `full` to `room` the file takes 25 kB. */
static int refused_write(struct chunk_writer *w, unsigned int from, unsigned int to,
			 unsigned int full, unsigned int room)
{
	struct chunk_stream *cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	struct error e = {0};
	union make_record r;
	int failed = 0;

	for (unsigned int i = from; i < to; i++) {
		make_syscall(&r, REFUSED_BEGIN_NS + i, 0, i);
		CHECK_EQ(chunk_writer_add(cpu, &r.head), 0);
		if (i % 100 == 99) {
			limit_files(i > full && i < room ? 25000 : RLIM_INFINITY);
			failed += chunk_writer_flush(w, REFUSED_BEGIN_NS + i, &e) == -EFBIG;
		}
	}
	return failed;
}

static struct chunk_writer *refused_open(void)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = REFUSED_BEGIN_NS, .no_sync = true};
	struct chunk_writer *w = NULL;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	return w;
}

/* Cuts, which fails with `err`; then the disk takes everything again, and the chunk is sealed. */
static void refused_seal(struct chunk_writer *w, int err, struct refused *refused,
			 struct chunk_info *info)
{
	CHECK_EQ(chunk_writer_cut(w, REFUSED_CUT_NS, NULL, NULL), err);
	limit_files(RLIM_INFINITY);
	CHECK_EQ(chunk_writer_seal(w, info, NULL), 0);
	chunk_writer_close(w);
	refused_read(refused, info);
}

TEST(what_the_disk_refuses_is_told_when_it_takes_more)
{
	struct chunk_writer *w = refused_open();
	struct refused refused = {0};
	struct chunk_info info;

	CHECK(refused_write(w, 0, REFUSED_RECORDS, 1000, 3000) > 5);
	limit_files(RLIM_INFINITY);
	refused_seal(w, 0, &refused, &info);
	CHECK(info.lost.buffer > 500);
	CHECK_EQ(info.lost.buffer, refused.told);
	CHECK_EQ(info.complete_ns, REFUSED_CUT_NS);
	refused_check(&refused, info.complete_ns);
}

/* Packets that are full are refused where the next record would begin another. */
TEST(what_the_disk_refuses_is_told_before_what_it_takes)
{
	struct chunk_writer *w = refused_open();
	struct refused refused = {0};
	struct chunk_info info;

	limit_files(PACKET_TARGET_BYTES - 1000);
	for (unsigned int i = 0; i < REFUSED_RECORDS; i++) {
		union make_record r;

		make_syscall(&r, REFUSED_BEGIN_NS + i, 0, i);
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head), 0);
	}
	refused_seal(w, -EFBIG, &refused, &info);
	CHECK(info.lost.buffer > 500);
	CHECK_EQ(info.lost.buffer, refused.told);
	CHECK(refused.seen[REFUSED_RECORDS - 1]);
	refused_check(&refused, info.complete_ns);
}

/* The losses that CTF readers count. */
static uint64_t discarded_at_end(const char *path)
{
	struct packet_head head = {0};
	FILE *f = fopen(path, "r");
	long at = 0;

	CHECK(f != NULL);
	while (fseek(f, at, SEEK_SET) == 0 && fread(&head, sizeof(head), 1, f) == 1)
		at += (long)(head.packet_bits / 8);
	CHECK(at > 0);
	fclose(f);
	return head.events_discarded;
}

/* No record can tell it, but the manifest says how far the streams go. */
TEST(what_the_disk_refuses_to_the_end)
{
	struct chunk_writer *w = refused_open();
	struct refused refused = {0};
	struct chunk_info info;

	CHECK(refused_write(w, 0, REFUSED_RECORDS, 1000, NEVER) > 5);
	refused_seal(w, -EFBIG, &refused, &info);
	CHECK_EQ(info.end_ns, REFUSED_CUT_NS);
	CHECK_EQ(refused.told, 0);
	CHECK_EQ(discarded_at_end(make_path(info.path, "cpu0")), info.lost.buffer);
	refused_check(&refused, info.complete_ns);
	CHECK_EQ(info.complete_ns, REFUSED_BEGIN_NS + refused.read);
}

/* If the disk takes the next chunk, that one tells it; the first says how far it goes. */
TEST(what_the_disk_refuses_before_a_rotation)
{
	struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = REFUSED_BEGIN_NS, .no_sync = true};
	struct refused refused = {0};
	struct chunk_writer *w, *next;
	struct chunk_info first, second;
	uint64_t read;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	CHECK(refused_write(w, 0, 3000, 1000, NEVER) > 5);
	options.begin_ns = 3990;
	CHECK_EQ(chunk_writer_open(&next, &options, NULL), 0);
	CHECK_EQ(chunk_writer_cut(w, 3990, next, NULL), -EFBIG);
	limit_files(RLIM_INFINITY);
	refused_write(next, 3000, REFUSED_RECORDS, NEVER, NEVER);
	CHECK_EQ(chunk_writer_cut(next, REFUSED_CUT_NS, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &first, NULL), 0);
	CHECK_EQ(chunk_writer_seal(next, &second, NULL), 0);
	chunk_writer_close(w);
	chunk_writer_close(next);
	refused_read(&refused, &first);
	read = refused.read;
	CHECK_EQ(first.complete_ns, REFUSED_BEGIN_NS + read);
	CHECK_EQ(second.late_ns, second.begin_ns);
	refused_read(&refused, &second);
	CHECK_EQ(second.complete_ns, REFUSED_CUT_NS);
	CHECK(refused.in_doubt[read]);
	CHECK_EQ(refused.counted, refused.told);
	refused_check(&refused, second.complete_ns);
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

/* Another thread may take each descriptor that is free. */
TEST(what_is_abandoned_is_removed_without_another_descriptor)
{
	struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .cpus = "0-1"};
	struct rlimit had, none;
	struct chunk_writer *w;
	char path[4096];
	struct stat st;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	snprintf(path, sizeof(path), "%s", chunk_writer_path(w));
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &had), 0);
	none = (struct rlimit){0, had.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	chunk_writer_abandon(w);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &had), 0);
	CHECK(stat(path, &st) < 0 && errno == ENOENT);
}

TEST_MAIN()
