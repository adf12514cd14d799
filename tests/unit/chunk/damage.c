/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever happens to a chunk's bytes: all that is missing is counted. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <zstd.h>

#include "base/crc32c.h"
#include "chunk/format.h"
#include "make.h"
#include "tests/unit/check.h"

#define COUNT 20000u

static void change_byte(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	unsigned char c;

	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, &c, 1, at), 1);
	c ^= 0x55;
	CHECK_EQ(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/* Read and damaged records sum to the written ones. */
static void check_sum_is(const char *path, bool damaged)
{
	struct chunk_info info;
	uint64_t read = make_count(path, &info);

	CHECK_EQ(read + info.lost.damaged, COUNT);
	CHECK_EQ(info.lost.damaged != 0, damaged);
}

TEST(nothing_damaged)
{
	struct chunk_info info;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	check_sum_is(info.path, false);
}

TEST(a_changed_byte_takes_one_packet)
{
	static const off_t places[] = {100, 88 + 3, 88 + 50, 300000, 88 + 88 + 5, 270000};
	struct chunk_info info;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		make_chunk(make_directory(), 1000, COUNT, false, &info);
		const char *path = make_path(info.path, "cpu0");

		CHECK(size_of(path) > 0);
		change_byte(path, places[i] % size_of(path));
		check_sum_is(info.path, true);
	}
}

TEST(a_changed_first_byte_loses_no_record)
{
	struct chunk_info info;
	struct chunk_reader *r;
	const struct record_head *record;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	change_byte(make_path(info.path, "cpu0"), 0);
	check_sum_is(info.path, false); /* the first packet is empty */
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	while (chunk_reader_next(r, &record, NULL) == 1)
		;
	CHECK(chunk_reader_damage(r) != NULL);
	CHECK(strstr(chunk_reader_damage(r), "cpu0") != NULL);
	chunk_reader_close(r);
}

/*
 * A hole is from the last valid record before it to the first one after it, or to an end of the
 * chunk. Its begin is delivered before records of other streams of that time.
 */
TEST(a_hole_is_told_with_its_time)
{
	const struct record_lost *lost;
	const struct record_head *record;
	struct chunk_info info;
	struct chunk_reader *r;
	uint64_t last[2] = {0}, begun[2] = {0}, now = 0;
	int holes = 0, ends = 0;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	change_byte(make_path(info.path, "cpu0"), size_of(make_path(info.path, "cpu0")) / 2);
	CHECK_EQ(unlink(make_path(info.path, "cpu1")), 0);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	while (chunk_reader_next(r, &record, NULL) == 1) {
		lost = (const void *)record;
		CHECK(record->time_ns >= now);
		now = record->time_ns;
		if (!make_is_hole(record)) {
			CHECK_EQ(begun[record->cpu], 0);
		} else if (lost->begin_ns == record->time_ns) {
			holes++;
			CHECK_EQ(begun[record->cpu], 0);
			CHECK(lost->begin_ns >= last[record->cpu]);
			CHECK(record->cpu == 0 || lost->begin_ns == info.begin_ns);
			begun[record->cpu] = lost->begin_ns;
		} else {
			ends++;
			CHECK_EQ(lost->begin_ns, begun[record->cpu]);
			CHECK(lost->begin_ns < record->time_ns);
			CHECK(record->cpu == 0 || record->time_ns == info.end_ns);
			begun[record->cpu] = 0;
		}
		last[record->cpu] = record->time_ns;
	}
	CHECK_EQ(holes, 2);
	CHECK_EQ(ends, 2);
	chunk_reader_close(r);
}

/*
 * A loss is told where it begins, before what its own stream and others have of that time, and ends
 * with its record; not earlier than the chunk.
 */
TEST(a_loss_is_told_where_it_begins)
{
	static const uint64_t ends[] = {1500, 4000, 6000}, begins[] = {500, 2000, 3000};
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	const struct record_head *record;
	uint64_t now = 0, records = 0;
	struct chunk_writer *w;
	struct chunk_info info;
	struct chunk_reader *r;
	int begun = 0, ended = 0;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	for (unsigned int i = 0; i < 10; i++) {
		union make_record call;

		make_syscall(&call, 1000 + 500 * i, i % 2, i);
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, i % 2),
					  &call.head),
			 0);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQ(make_lost(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), LOST_buffer,
				   i == 1 ? 0 : 7, begins[i], ends[i]),
			 0);
	CHECK_EQ(make_lost(chunk_writer_stream(w, CHUNK_STREAM_APP, 7), LOST_application, 1, 1000,
			   5000),
		 0);
	CHECK_EQ(chunk_writer_cut(w, 7000, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(info.lost.uncounted, 1);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	CHECK_EQ(chunk_reader_info(r)->lost.uncounted, 1);
	while (chunk_reader_next(r, &record, NULL) == 1) {
		const struct record_lost *lost = (const void *)record;

		CHECK(record->time_ns >= now);
		now = record->time_ns;
		records++;
		if (record->kind == RECORD_lost) /* of a program it says of which */
			CHECK_EQ(record->pid, lost->why == LOST_application ? 7 : 0);
		if (record->kind != RECORD_lost || lost->why == LOST_application)
			continue;
		CHECK_EQ(record->cpu, 0);
		if (lost->count == LOST_BEGINS) {
			CHECK_EQ(lost->begin_ns, begins[begun]);
			CHECK_EQ(now, begun ? begins[begun] : 1000);
			/* first of what has this time */
			CHECK_EQ(records,
				 begun ? (begins[begun] - 1000) / 500 + 3 + (begun == 2) : 1);
			begun++;
		} else {
			CHECK_EQ(now, ends[ended]);
			CHECK(begun > ended++);
		}
	}
	CHECK_EQ(begun, 3);
	CHECK_EQ(ended, 3);
	chunk_reader_close(r);
}

/* None of the records need say so: the manifest does, that somewhere are some that count nothing.
 */
TEST(a_loss_that_counts_nothing_is_told_where_it_begins)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	const struct record_head *record;
	struct chunk_writer *w;
	struct chunk_info info;
	struct chunk_reader *r;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	CHECK_EQ(make_lost(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), LOST_buffer, 0, 2000, 3000),
		 0);
	CHECK_EQ(chunk_writer_cut(w, 7000, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(chunk_reader_next(r, &record, NULL), 1);
		CHECK_EQ(record->time_ns, i ? 3000 : 2000);
		CHECK_EQ(((const struct record_lost *)record)->count, i ? 0 : LOST_BEGINS);
	}
	CHECK_EQ(chunk_reader_next(r, &record, NULL), 0);
	chunk_reader_close(r);
}

/* A hole at the end, too, is delivered before records of other streams of that time. */
TEST(a_cut_file_is_told_where_it_ends)
{
	const struct record_head *record;
	struct chunk_info info;
	struct chunk_reader *r;
	uint64_t from = 0, to = 0, others = 0;

	make_chunk(make_directory(), 1000, 4 * COUNT, false, &info);
	CHECK_EQ(truncate(make_path(info.path, "cpu1"), size_of(make_path(info.path, "cpu1")) / 2),
		 0);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	while (chunk_reader_next(r, &record, NULL) == 1) {
		if (!make_is_hole(record)) {
			CHECK(record->cpu == 0 || !from);
			others += from && !to;
		} else if (!from) {
			from = record->time_ns;
		} else {
			to = record->time_ns;
		}
	}
	CHECK(from > info.begin_ns && from < info.end_ns);
	CHECK_EQ(to, info.end_ns);
	CHECK(others > 1000);
	chunk_reader_close(r);
}

/* A chunk of n records of CPU 0 and of program 7, 1000 apart, in turn. */
static void make_program(const char *dir, unsigned int n, bool compress, struct chunk_info *info)
{
	const struct chunk_writer_options options = {
		.dir = dir, .begin_ns = 1000, .compress = compress, .no_sync = true};
	struct chunk_writer *w;
	union make_record r;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	for (unsigned int i = 0; i < n; i++) {
		struct chunk_stream *to = i % 2 ? chunk_writer_stream(w, CHUNK_STREAM_APP, 7)
						: chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);

		make_syscall(&r, 1000 + 1000ull * i, i % 2 ? PACKET_NO_CPU : 0, i);
		CHECK_EQ(chunk_writer_add(to, &r.head), 0);
	}
	CHECK_EQ(chunk_writer_cut(w, 1000 + 1000ull * n, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, info, NULL), 0);
	chunk_writer_close(w);
}

/*
 * Missing records of a program are delivered as lost by it, at its next record or at the end. Each
 * record that was not delivered is in that time.
 */
static void check_program_hole(const struct chunk_info *info, int holes)
{
	const struct record_head *record;
	struct chunk_reader *r;
	uint64_t last_ns = info->begin_ns, now = 0, read = 0, missing = 0;

	CHECK_EQ(chunk_reader_open(&r, info->path, NULL), 0);
	while (chunk_reader_next(r, &record, NULL) == 1) {
		const struct record_lost *lost = (const void *)record;

		CHECK(record->time_ns >= now);
		now = record->time_ns;
		read += !make_is_hole(record);
		if (make_is_hole(record)) {
			holes--;
			CHECK_EQ(lost->why, LOST_application);
			CHECK_EQ(lost->count, 0);
			CHECK_EQ(record->pid, 7);
			CHECK_EQ(record->tid, 7);
			CHECK(lost->begin_ns >= last_ns && lost->begin_ns < now);
			missing += (now - lost->begin_ns) / 2000;
			last_ns = now;
		} else if (record->cpu == PACKET_NO_CPU) {
			CHECK(now <= last_ns + 2000); /* a hole was told, or none is there */
			last_ns = now;
		}
	}
	CHECK_EQ(holes, 0);
	CHECK_EQ(read + chunk_reader_info(r)->lost.damaged, COUNT);
	CHECK(missing >= chunk_reader_info(r)->lost.damaged);
	CHECK_EQ(chunk_reader_info(r)->lost.application, 0);
	chunk_reader_close(r);
}

TEST(a_hole_of_a_program_is_told_as_lost_by_it)
{
	for (int i = 0; i < 6; i++) {
		const char *dir = make_directory(), *path;
		struct chunk_info info;
		off_t size;

		make_program(dir, COUNT, i % 2, &info);
		path = make_path(info.path, i % 2 ? "app-7.zst" : "app-7");
		size = size_of(path);
		CHECK(size > 0);
		if (i < 2)
			CHECK_EQ(truncate(path, size / 2), 0);
		else if (i < 4)
			CHECK_EQ(unlink(path), 0);
		else
			change_byte(path, size / 2);
		check_program_hole(&info, 1);
		make_forget(dir);
	}
}

TEST(a_missing_file_is_counted)
{
	struct chunk_info info;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	CHECK_EQ(unlink(make_path(info.path, "cpu1")), 0);
	check_sum_is(info.path, true);
}

TEST(a_truncated_file_is_counted)
{
	for (int i = 0; i < 20; i++) {
		struct chunk_info info;
		const char *path;

		make_chunk(make_directory(), 1000, COUNT, i % 2, &info);
		path = make_path(info.path, i % 2 ? "cpu1.zst" : "cpu1");
		CHECK_EQ(truncate(path, size_of(path) * i / 20), 0);
		check_sum_is(info.path, true);
	}
}

/* Data after the end of the chunk is not read: it may be very long. */
TEST(a_file_that_was_made_longer_loses_nothing)
{
	const struct record_head *record;
	struct chunk_info info;
	struct chunk_reader *r;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	CHECK_EQ(truncate(make_path(info.path, "cpu0"), (off_t)1 << 40), 0);
	check_sum_is(info.path, false);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	while (chunk_reader_next(r, &record, NULL) == 1)
		;
	CHECK(chunk_reader_damage(r) != NULL);
	CHECK(strstr(chunk_reader_damage(r), "cpu0") != NULL);
	chunk_reader_close(r);
}

TEST(a_damaged_compressed_file_is_counted)
{
	for (int i = 0; i < 20; i++) {
		struct chunk_info info;
		const char *path;
		uint64_t read;

		make_chunk(make_directory(), 1000, COUNT, true, &info);
		path = make_path(info.path, "cpu0.zst");
		change_byte(path, size_of(path) * i / 20);
		read = make_count(info.path, &info);
		CHECK_EQ(read + info.lost.damaged, COUNT);
	}
}

TEST(a_damaged_manifest_is_not_believed)
{
	struct chunk_info info;
	struct chunk_reader *r;
	off_t size;

	make_chunk(make_directory(), 1000, 100, false, &info);
	size = size_of(make_path(info.path, ".manifest"));
	for (off_t at = (size - 1) % 7; at < size; at += 7) {
		const char *path = make_path(info.path, ".manifest");
		struct chunk_info now;

		change_byte(path, at);
		CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
		CHECK(chunk_reader_damage(r) != NULL);
		CHECK_STR(chunk_reader_info(r)->boot_id, info.boot_id);
		CHECK_EQ(chunk_reader_info(r)->begin_ns, info.begin_ns);
		chunk_reader_close(r);
		CHECK_EQ(make_count(info.path, &now), 100);
		change_byte(path, at);
	}
	CHECK_EQ(unlink(make_path(info.path, ".manifest")), 0);
	CHECK_EQ(make_count(info.path, &info), 100);
}

static void give_name(const char *chunk, const char *from, const char *to)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s", make_path(chunk, from));
	unlink(make_path(chunk, to));
	CHECK_EQ(link(path, make_path(chunk, to)), 0);
}

/* Each record counts once, whatever other name its file has. */
TEST(a_file_in_the_place_of_another)
{
	struct chunk_info info;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	give_name(info.path, "cpu1", "cpu0");
	check_sum_is(info.path, true);
	CHECK_EQ(make_count(info.path, &info), COUNT / 2);
	CHECK_EQ(unlink(make_path(info.path, ".manifest")), 0);
	give_name(info.path, "cpu1", "cpu7");
	give_name(info.path, "cpu1", "app-7");
	CHECK_EQ(make_count(info.path, &info), COUNT / 2);
	CHECK(info.lost.damaged > 0);
}

/* Changes the last packet of a file, with a valid checksum. */
static void last_packet_ends(const char *path, uint64_t end_ns)
{
	const size_t checksum = offsetof(struct packet_head, checksum);
	size_t size = (size_t)size_of(path), at = 0, next = 0, bytes;
	unsigned char *file = malloc(size);
	int fd = open(path, O_RDWR);
	uint32_t crc;

	CHECK(file && fd >= 0);
	CHECK_EQ(pread(fd, file, size, 0), size);
	for (; next < size; next += bytes) {
		at = next;
		bytes = load64(file + at + offsetof(struct packet_head, packet_bits)) / 8;
	}
	store64(file + at + offsetof(struct packet_head, timestamp_end), end_ns);
	crc = crc32c(0, file + at, checksum);
	crc = crc32c(crc, file + at + checksum + 4, size - at - checksum - 4);
	store32(file + at + checksum, crc);
	CHECK_EQ(pwrite(fd, file, size, 0), size);
	close(fd);
	free(file);
}

/* Times whose sum overflows: a hostile file can have valid checksums. */
TEST(a_time_beyond_belief_is_damage)
{
	struct chunk_info info;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	last_packet_ends(make_path(info.path, "cpu0"), RECORD_TIME_END_NS - 1);
	CHECK_EQ(make_count(info.path, &info), COUNT);
	last_packet_ends(make_path(info.path, "cpu0"), RECORD_TIME_END_NS);
	check_sum_is(info.path, true);
}

/* Each packet is whole; only the manifest knows that they were others. */
TEST(a_file_of_another_checksum_is_damaged)
{
	struct chunk_info info, now;
	struct chunk_reader *r;

	for (int other = 0; other < 2; other++) {
		const char *dir = make_directory();

		make_chunk(dir, 1000, COUNT, false, &info);
		if (other)
			last_packet_ends(make_path(info.path, "cpu0"), info.end_ns);
		CHECK_EQ(make_count(info.path, &now), COUNT);
		CHECK_EQ(now.lost.damaged, other);
		CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
		while (chunk_reader_stream_next(r, 0, &(const struct record_head *){0}, NULL) > 0)
			;
		CHECK_EQ(chunk_reader_damage(r) != NULL, other);
		chunk_reader_close(r);
		make_forget(dir);
	}
}

/* Puts another line in the place of the first one of the key; the checksum is right. */
static void manifest_put(const char *path, const char *key, const char *line)
{
	char text[8192], tail[8192], *at;
	ssize_t len;
	int fd = open(path, O_RDWR);

	CHECK(fd >= 0);
	len = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(len > 0);
	text[len] = '\0';
	at = strstr(text, key);
	CHECK(at != NULL);
	strcpy(tail, strchr(at + 1, '\n'));
	sprintf(at, "%s%s", line, tail);
	at = strstr(text, "checksum=");
	CHECK(at != NULL);
	sprintf(at, "checksum=%08x\n", crc32c(0, text, (size_t)(at - text)));
	CHECK_EQ(pwrite(fd, text, strlen(text), 0), strlen(text));
	CHECK_EQ(ftruncate(fd, (off_t)strlen(text)), 0);
	close(fd);
}

static void manifest_ends(const char *path, uint64_t end_ns)
{
	char line[64];

	snprintf(line, sizeof(line), "\nend_ns=%llu", (unsigned long long)end_ns);
	manifest_put(path, "\nend_ns=", line);
}

/* Its contents would count twice. */
TEST(a_manifest_that_lists_a_file_twice_is_not_believed)
{
	static const char *const lines[] = {
		"\nfile=cpu0 1 00000000 1 1\nfile=cpu1 1 00000000 1 1\nfile=cpu0 1 00000000 1 1",
		"\nfile=cpu1 1 00000000 1 1\nfile=cpu0.zst 1 00000000 1 1\nfile=cpu0 1 00000000 1 "
		"1",
		"\nfile=cpu1 1 00000000 1 1\nfile=cpu01 1 00000000 1 1",
	};
	struct chunk_info info;
	struct chunk_reader *r;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *dir = make_directory();

		make_chunk(dir, 1000, COUNT, false, &info);
		manifest_put(make_path(info.path, ".manifest"), "\nfile=cpu0", lines[i]);
		CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
		CHECK(chunk_reader_damage(r) != NULL);
		CHECK(strstr(chunk_reader_damage(r), "manifest") != NULL);
		chunk_reader_close(r);
		CHECK_EQ(make_count(info.path, &info), COUNT);
		make_forget(dir);
	}
}

TEST(a_manifest_of_times_beyond_belief_is_not_believed)
{
	struct chunk_info info;
	struct chunk_reader *r;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	for (int beyond = 0; beyond < 2; beyond++) {
		manifest_ends(make_path(info.path, ".manifest"),
			      RECORD_TIME_END_NS - 1 + (uint64_t)beyond);
		CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
		CHECK_EQ(chunk_reader_info(r)->end_ns < RECORD_TIME_END_NS, 1);
		CHECK_EQ(chunk_reader_damage(r) != NULL, beyond);
		chunk_reader_close(r);
	}
}

TEST(damaged_metadata_is_told)
{
	struct chunk_info info;
	struct chunk_reader *r;

	make_chunk(make_directory(), 1000, 100, false, &info);
	change_byte(make_path(info.path, "metadata"), 50);
	CHECK_EQ(chunk_reader_open(&r, info.path, NULL), 0);
	CHECK(strstr(chunk_reader_damage(r), "metadata") != NULL);
	chunk_reader_close(r);
	CHECK_EQ(make_count(info.path, &info), 100);
}

/*
 * 20 MB that look like the heads of large packets: the time must be bounded
 * (10 s for 100 MB, measured in CPU time), and all is counted.
 */
TEST(a_field_of_false_heads_ends_soon)
{
	const char *dir = make_directory();
	struct chunk_info info;
	unsigned char head[88];
	clock_t begin = clock();
	FILE *f;

	make_chunk(dir, 1000, COUNT, false, &info);
	f = fopen(make_path(info.path, "cpu0"), "r+");
	CHECK(f != NULL);
	CHECK_EQ(fread(head, 1, sizeof(head), f), sizeof(head));
	/* content and packet size: 128 KiB */
	for (int i = 0; i < 8; i++)
		head[40 + i] = head[48 + i] = i == 2 ? 0x10 : 0;
	for (int i = 0; i < 20000000 / 88; i++)
		fwrite(head, 1, sizeof(head), f);
	fclose(f);
	check_sum_is(info.path, true);
	CHECK(clock() - begin < 2 * CLOCKS_PER_SEC * 10);
}

/* 2 GiB of zeros in 2 MB at most: given up early, and counted. */
TEST(a_bomb_does_not_go_off)
{
	static unsigned char zeros[1 << 20], out[2 << 20];
	ZSTD_CCtx *context = ZSTD_createCCtx();
	struct chunk_info info;
	clock_t begin;
	FILE *f;

	make_chunk(make_directory(), 1000, COUNT, true, &info);
	f = fopen(make_path(info.path, "cpu0.zst"), "w");
	CHECK(f != NULL);
	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 20);
	for (int i = 0; i < 2048; i++) {
		ZSTD_inBuffer src = {zeros, sizeof(zeros), 0};
		ZSTD_outBuffer dst = {out, sizeof(out), 0};

		CHECK(!ZSTD_isError(ZSTD_compressStream2(context, &dst, &src, ZSTD_e_continue)));
		CHECK_EQ(src.pos, src.size);
		fwrite(out, 1, dst.pos, f);
	}
	fclose(f);
	ZSTD_freeCCtx(context);
	begin = clock();
	check_sum_is(info.path, true);
	CHECK(clock() - begin < CLOCKS_PER_SEC);
}

/* Decompresses a file, like `zstd -d --rm`. */
static void decompress_in_place(const char *chunk, const char *name)
{
	static unsigned char in[1 << 20], out[8 << 20];
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_outBuffer dst = {out, sizeof(out), 0};
	ZSTD_inBuffer src = {in, 0, 0};
	char from[32];
	FILE *f;

	snprintf(from, sizeof(from), "%s.zst", name);
	f = fopen(make_path(chunk, from), "r");
	CHECK(f != NULL);
	src.size = fread(in, 1, sizeof(in), f);
	fclose(f);
	CHECK(src.size > 0 && src.size < sizeof(in));
	while (src.pos < src.size)
		CHECK(!ZSTD_isError(ZSTD_decompressStream(context, &dst, &src)));
	CHECK(dst.pos > src.size && dst.pos < sizeof(out));
	ZSTD_freeDCtx(context);
	f = fopen(make_path(chunk, name), "w");
	CHECK(f != NULL);
	CHECK_EQ(fwrite(out, 1, dst.pos, f), dst.pos);
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(unlink(make_path(chunk, from)), 0);
}

TEST(a_stream_may_be_decompressed_in_place)
{
	struct chunk_info info;

	make_chunk(make_directory(), 1000, COUNT, true, &info);
	decompress_in_place(info.path, "cpu0");
	check_sum_is(info.path, false);
	CHECK_EQ(truncate(make_path(info.path, "cpu0"), 300000), 0);
	check_sum_is(info.path, true); /* still known to be cut, by the manifest's count */
}

/* Compresses a file, like `zstd --rm`, with the window of its highest ordinary level. */
static void compress_in_place(const char *chunk, const char *name)
{
	static unsigned char in[8 << 20], out[8 << 20];
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ZSTD_outBuffer dst = {out, sizeof(out), 0};
	ZSTD_inBuffer src = {in, 0, 0};
	char to[32];
	FILE *f = fopen(make_path(chunk, name), "r");

	CHECK(f != NULL);
	src.size = fread(in, 1, sizeof(in), f);
	fclose(f);
	CHECK(src.size > 0 && src.size < sizeof(in));
	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 23);
	while (src.pos <
	       src.size) /* not told how much comes: the window is as large as it may be */
		CHECK(!ZSTD_isError(ZSTD_compressStream2(context, &dst, &src, ZSTD_e_continue)));
	CHECK_EQ(ZSTD_compressStream2(context, &dst, &src, ZSTD_e_end), 0);
	ZSTD_freeCCtx(context);
	CHECK_EQ(unlink(make_path(chunk, name)), 0);
	snprintf(to, sizeof(to), "%s.zst", name);
	f = fopen(make_path(chunk, to), "w");
	CHECK(f != NULL);
	CHECK_EQ(fwrite(out, 1, dst.pos, f), dst.pos);
	CHECK_EQ(fclose(f), 0);
}

TEST(a_stream_may_be_compressed_in_place)
{
	struct chunk_info info;

	make_chunk(make_directory(), 1000, COUNT, false, &info);
	compress_in_place(info.path, "cpu0");
	check_sum_is(info.path, false);
	CHECK_EQ(truncate(make_path(info.path, "cpu0.zst"),
			  size_of(make_path(info.path, "cpu0.zst")) / 2),
		 0);
	check_sum_is(info.path, true);
}

TEST_MAIN()
