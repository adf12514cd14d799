/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `copy plain|zstd CHUNK DIR [KIND...]`: writes the records of a chunk again into DIR, as a
 * recorder does, without those of the kinds. Prints the number of records that were left out, and
 * the bytes of the streams of the copy. This gives the share of a kind in a chunk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "chunk/chunk.h"
#include "record/record.h"

#define FLUSH_NS 200000000u /* as record does */
#define STREAMS_MAX 4096

static const char *const kind_names[RECORD_KIND_MAX + 1] = {
#define K(kind, value, what) [value] = #kind,
	RECORD_KINDS(K)
#undef K
};

/* Each stream has its own reader; its current record is valid until the next call. */
struct source {
	struct chunk_reader *reader;
	size_t index;
	const struct record_head *record; /* NULL: at the end */
	struct chunk_stream *to;
};

struct copy {
	struct chunk_writer *writer;
	struct source sources[STREAMS_MAX];
	size_t count;
	bool left_out[RECORD_KIND_MAX + 1];
	u64 copied, omitted, flushed_ns;
};

static int source_next(struct source *s, struct error *e)
{
	int got = chunk_reader_stream_next(s->reader, s->index, &s->record, e);

	if (got == 0)
		s->record = NULL;
	return got < 0 ? got : 0;
}

static struct chunk_stream *stream_like(struct chunk_writer *w, const char *name)
{
	if (strncmp(name, "cpu", 3) == 0)
		return chunk_writer_stream(w, CHUNK_STREAM_CPU, (u32)atoi(name + 3));
	if (strncmp(name, "app-", 4) == 0)
		return chunk_writer_stream(w, CHUNK_STREAM_APP, (u32)atoi(name + 4));
	return chunk_writer_stream(
		w, strcmp(name, "late") == 0 ? CHUNK_STREAM_LATE : CHUNK_STREAM_LIFE, 0);
}

static int sources_open(struct copy *c, const char *chunk, struct error *e)
{
	size_t count = 1;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct source *s = &c->sources[i];

		err = chunk_reader_open(&s->reader, chunk, e);
		if (err)
			break;
		c->count = i + 1;
		count = chunk_reader_streams(s->reader);
		if (count > STREAMS_MAX)
			return error_say(e, E2BIG, "%s has too many streams", chunk);
		s->index = i;
		s->to = stream_like(c->writer, chunk_reader_stream_name(s->reader, i));
		err = s->to ? source_next(s, e) : error_say(e, ENOMEM, "no stream");
	}
	return err;
}

static struct source *source_oldest(struct copy *c)
{
	struct source *oldest = NULL;

	for (size_t i = 0; i < c->count; i++) {
		struct source *s = &c->sources[i];

		if (s->record && (!oldest || s->record->time_ns < oldest->record->time_ns))
			oldest = s;
	}
	return oldest;
}

static int copy_records(struct copy *c, struct error *e)
{
	struct source *s;
	int err = 0;

	while (!err && (s = source_oldest(c))) {
		const struct record_head *r = s->record;

		if (r->time_ns >= c->flushed_ns + FLUSH_NS) {
			c->flushed_ns = r->time_ns;
			err = chunk_writer_flush(c->writer, r->time_ns, e);
		}
		if (r->kind <= RECORD_KIND_MAX && c->left_out[r->kind]) {
			c->omitted++;
		} else if (!err) {
			c->copied++;
			err = chunk_writer_add(s->to, r);
		}
		if (!err)
			err = source_next(s, e);
	}
	return err;
}

static int copy_run(struct copy *c, const char *chunk, struct chunk_writer_options *options,
		    struct chunk_info *out, struct error *e)
{
	struct chunk_reader *reader;
	u64 end_ns;
	int err = chunk_reader_open(&reader, chunk, e);

	if (err)
		return err;
	options->begin_ns = c->flushed_ns = chunk_reader_info(reader)->begin_ns;
	end_ns = chunk_reader_info(reader)->end_ns;
	chunk_reader_close(reader);
	err = chunk_writer_open(&c->writer, options, e);
	if (!err)
		err = sources_open(c, chunk, e);
	if (!err)
		err = copy_records(c, e);
	if (!err)
		err = chunk_writer_cut(c->writer, end_ns, NULL, e);
	return err ? err : chunk_writer_seal(c->writer, out, e);
}

static bool kinds_parse(struct copy *c, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		int kind = 1;

		while (kind <= RECORD_KIND_MAX &&
		       (!kind_names[kind] || strcmp(kind_names[kind], argv[i]) != 0))
			kind++;
		if (kind > RECORD_KIND_MAX)
			return false;
		c->left_out[kind] = true;
	}
	return true;
}

int main(int argc, char **argv)
{
	static struct copy c;
	struct chunk_writer_options options = {.no_sync = true};
	struct chunk_info info = {0};
	struct error e = {0};
	int err;

	if (argc < 4 || !kinds_parse(&c, argc - 4, argv + 4)) {
		fprintf(stderr, "usage: copy plain|zstd CHUNK DIR [KIND...]\n");
		return 1;
	}
	options.compress = strcmp(argv[1], "zstd") == 0;
	options.dir = argv[3];
	err = copy_run(&c, argv[2], &options, &info, &e);
	if (err)
		fprintf(stderr, "copy: %s\n", error_is_set(&e) ? e.text : "failed");
	else
		printf("records %llu\nomitted %llu\nbytes %llu\n", (unsigned long long)c.copied,
		       (unsigned long long)c.omitted, (unsigned long long)info.bytes);
	for (size_t i = 0; i < c.count; i++)
		chunk_reader_close(c.sources[i].reader);
	chunk_writer_close(c.writer);
	return err != 0;
}
