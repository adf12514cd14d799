/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of thousands of streams, in little memory. */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include "chunk/format.h"
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

static void writer_end_at(struct chunk_writer *w, uint64_t cut_ns, struct chunk_info *info)
{
	CHECK_EQ(chunk_writer_cut(w, cut_ns, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, info, NULL), 0);
	chunk_writer_close(w);
}

static void writer_end(struct chunk_writer *w, struct chunk_info *info)
{
	writer_end_at(w, 1000000000, info);
}

/* The records of each program begin at the same time. */
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

static struct rlimit limit_addresses(rlim_t bytes)
{
	struct rlimit had, few;

#ifdef __SANITIZE_ADDRESS__
	SKIP("the sanitizer's own map takes more");
#endif
	CHECK_EQ(getrlimit(RLIMIT_AS, &had), 0);
	few = (struct rlimit){bytes, had.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_AS, &few), 0);
	return had;
}

/* A chunk can have a few spans of this many programs. */
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
	had = limit_addresses(ADDRESS_BYTES);
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
	had = limit_addresses(ADDRESS_BYTES);
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	CHECK_EQ(chunk_reader_streams(reader), STREAMS);
	for (int i = 0; i < 10000; i++)
		CHECK_EQ(chunk_reader_next(reader, &record, NULL), 1);
	CHECK(chunk_reader_damage(reader) != NULL);
	chunk_reader_close(reader);
	CHECK_EQ(setrlimit(RLIMIT_AS, &had), 0);
}

/* A stream of one packet after the other, all the same: of a plain one its first two packets. */
static void repeat(const char *from, const char *to, size_t bytes)
{
	static unsigned char stream[1 << 20], out[1 << 18];
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t len, packet, left;
	FILE *f = fopen(from, "r");

	CHECK(f != NULL);
	len = fread(stream, 1, sizeof(stream), f);
	fclose(f);
	CHECK(len > (size_t)2 * PACKET_HEAD_BYTES && len < sizeof(stream));
	packet = load64(stream + PACKET_HEAD_BYTES + offsetof(struct packet_head, packet_bits)) / 8;
	CHECK(packet <= len - PACKET_HEAD_BYTES);
	f = fopen(to, "w");
	CHECK(f != NULL);
	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 20);
	for (size_t at = 0; at < bytes; at += packet) {
		size_t skip = at ? PACKET_HEAD_BYTES : 0;
		ZSTD_inBuffer src = {stream + skip, PACKET_HEAD_BYTES + packet - skip, 0};
		bool last = at + packet >= bytes;

		do {
			ZSTD_outBuffer dst = {out, sizeof(out), 0};

			left = ZSTD_compressStream2(context, &dst, &src,
						    last ? ZSTD_e_end : ZSTD_e_continue);
			CHECK(!ZSTD_isError(left));
			CHECK_EQ(fwrite(out, 1, dst.pos, f), dst.pos);
		} while (src.pos < src.size || (last && left));
	}
	CHECK_EQ(fclose(f), 0);
	ZSTD_freeCCtx(context);
}

#define BOMBS 40u
#define BOMB_BYTES ((size_t)60 << 20)
#define LOST_BYTES 28u /* of an event, at least */

/* Each file is no more than one may be; together they are 2 GB of losses, in a few kilobytes. */
TEST(small_files_do_not_become_much_together)
{
	const struct record_head *record;
	struct chunk_writer *w = writer_open(false);
	struct chunk_stream *s = chunk_writer_stream(w, CHUNK_STREAM_APP, 1);
	uint64_t records = 0, begins = 0;
	struct chunk_reader *reader;
	struct chunk_info info;
	struct rlimit had;
	char one[4400];
	int got;

	for (int i = 0; i < 1000; i++)
		CHECK_EQ(make_lost(s, LOST_buffer, 1, 2000, 3000), 0);
	writer_end_at(w, 3001, &info); /* each packet begins and ends at 3000 */
	snprintf(one, sizeof(one), "%s", make_path(info.path, "app-1.zst"));
	repeat(make_path(info.path, "app-1"), one, BOMB_BYTES);
	CHECK_EQ(unlink(make_path(info.path, "app-1")), 0);
	CHECK_EQ(unlink(make_path(info.path, ".manifest")), 0);
	for (unsigned int i = 2; i <= BOMBS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "app-%u.zst", i);
		CHECK_EQ(link(one, make_path(info.path, name)), 0);
	}
	had = limit_addresses(ADDRESS_BYTES / 4);
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	while ((got = chunk_reader_next(reader, &record, NULL)) == 1) {
		if (((const struct record_lost *)record)->count == LOST_BEGINS)
			begins++;
		else
			records++;
	}
	CHECK_EQ(got, 0);
	CHECK(records > 1000000 && records < ((uint64_t)160 << 20) / LOST_BYTES);
	CHECK(begins > 1000000 && begins < 1100000);
	CHECK(chunk_reader_info(reader)->lost.damaged >= BOMBS - 2);
	chunk_reader_close(reader);
	CHECK_EQ(setrlimit(RLIMIT_AS, &had), 0);
}

/* Programs that tell the same long text again and again: what is written is read. */
TEST(what_is_written_is_read_however_much_it_compresses)
{
	const unsigned int programs = 40, texts = 1000;
	const struct record_head *record;
	struct chunk_writer *w = writer_open(true);
	struct chunk_reader *reader;
	struct chunk_info info;
	union {
		struct record_fd named;
		struct record_head head;
		unsigned char bytes[8192];
	} r = {.head = {.kind = RECORD_fd, .cpu = 0xffff, .tid = 7, .pid = 7, .time_ns = 2000}};
	uint64_t n = 0, plain;

	for (unsigned int i = 0; i < programs; i++) {
		struct chunk_stream *s = chunk_writer_stream(w, CHUNK_STREAM_APP, i + 1);

		r.named.path_len = sizeof(r.named.path);
		for (unsigned int k = 0; k < texts; k++) {
			r.head.time_ns = 2000 + k;
			CHECK_EQ(chunk_writer_add(s, &r.head), 0);
		}
	}
	plain = (uint64_t)programs * texts * sizeof(r.named.path);
	writer_end(w, &info);
	CHECK(info.bytes < plain / 4 * 3); /* most would be too much, and stays as it is */
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	while (chunk_reader_next(reader, &record, NULL) == 1)
		n++;
	CHECK_EQ(n, programs * texts);
	CHECK(chunk_reader_damage(reader) == NULL);
	chunk_reader_close(reader);
}

TEST_MAIN()
