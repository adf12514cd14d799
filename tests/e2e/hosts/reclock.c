/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reclock CHUNK DIR AT_NS OFFSET_NS DRIFT_PPM` writes a chunk again into DIR, as a host would have
 * recorded it whose monotonic clock is ahead by OFFSET_NS at AT_NS, and gains DRIFT_PPM.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk.h"

struct moving {
	struct chunk_reader *reader;
	struct chunk_writer *writer;
	uint64_t at_ns; /* where the clocks differ by the offset */
	int64_t offset_ns, drift_ppm;
};

static uint64_t moved(const struct moving *m, uint64_t time_ns)
{
	int64_t since = (int64_t)(time_ns - m->at_ns);

	return time_ns + (uint64_t)(m->offset_ns + since / 1000000 * m->drift_ppm);
}

/* Moves the instants that a record of that kind has beside its own. */
static void instants_move(const struct moving *m, struct record_head *r)
{
	switch (r->kind) {
	case RECORD_lost:
		((struct record_lost *)r)->begin_ns = moved(m, ((struct record_lost *)r)->begin_ns);
		break;
	case RECORD_gap:
		((struct record_gap *)r)->begin_ns = moved(m, ((struct record_gap *)r)->begin_ns);
		break;
	case RECORD_steal:
		((struct record_steal *)r)->begin_ns = moved(m,
							     ((struct record_steal *)r)->begin_ns);
		break;
	case RECORD_cost:
		((struct record_cost *)r)->begin_ns = moved(m, ((struct record_cost *)r)->begin_ns);
		break;
	case RECORD_path:
		((struct record_path *)r)->call_ns = moved(m, ((struct record_path *)r)->call_ns);
		break;
	case RECORD_peer:
		((struct record_peer *)r)->call_ns = moved(m, ((struct record_peer *)r)->call_ns);
		break;
	default:
		break;
	}
}

static struct chunk_stream *same_stream(struct chunk_writer *w, const char *name)
{
	const char *digits = name + strcspn(name, "0123456789");
	enum chunk_stream_kind kind = CHUNK_STREAM_LATE;

	if (strncmp(name, "cpu", 3) == 0)
		kind = CHUNK_STREAM_CPU;
	else if (strncmp(name, "app-", 4) == 0)
		kind = CHUNK_STREAM_APP;
	else if (strncmp(name, "life", 4) == 0)
		kind = CHUNK_STREAM_LIFE;
	return chunk_writer_stream(w, kind, (uint32_t)strtoul(digits, NULL, 10));
}

static int stream_move(const struct moving *m, size_t index, struct error *e)
{
	struct chunk_stream *to = same_stream(m->writer,
					      chunk_reader_stream_name(m->reader, index));
	const struct record_head *record;
	int got, err;

	if (!to)
		return error_set(e, ENOMEM, "cannot write a stream");
	while ((got = chunk_reader_stream_next(m->reader, index, &record, e)) > 0) {
		/* the reader has decoded it into memory of its own, which nobody else reads */
		struct record_head *r = (struct record_head *)record;

		r->time_ns = moved(m, r->time_ns);
		instants_move(m, r);
		err = chunk_writer_add(to, r);
		if (err)
			return error_set(e, err, "cannot write a record");
	}
	return got;
}

static int chunk_move(struct moving *m, const char *dir, struct error *e)
{
	const struct chunk_info *info = chunk_reader_info(m->reader);
	struct chunk_clock clock = info->clock;
	struct chunk_writer_options o = {.dir = dir,
					 .host = info->host,
					 .boot_id = info->boot_id,
					 .clock = &clock,
					 .filters = info->filters,
					 .no_sync = true};
	uint64_t end_ns;
	int err;

	end_ns = moved(m, info->end_ns);
	o.begin_ns = moved(m, info->begin_ns);
	o.begun_ns = moved(m, info->begun_ns);
	o.complete_ns = moved(m, info->complete_ns);
	clock.monotonic_ns = moved(m, clock.monotonic_ns);
	err = chunk_writer_open(&m->writer, &o, e);
	for (size_t i = 0; i < chunk_reader_streams(m->reader) && !err; i++)
		err = stream_move(m, i, e);
	err = err ? err : chunk_writer_cut(m->writer, end_ns, NULL, e);
	return err ? err : chunk_writer_seal(m->writer, NULL, e);
}

int main(int argc, char **argv)
{
	struct moving m = {0};
	struct error e = {0};
	int err;

	if (argc != 6)
		return 2;
	m.at_ns = strtoull(argv[3], NULL, 10);
	m.offset_ns = strtoll(argv[4], NULL, 10);
	m.drift_ppm = strtoll(argv[5], NULL, 10);
	err = chunk_reader_open(&m.reader, argv[1], &e);
	err = err ? err : chunk_move(&m, argv[2], &e);
	chunk_writer_close(m.writer);
	if (m.reader)
		chunk_reader_close(m.reader);
	if (err)
		fprintf(stderr, "%s\n", e.text);
	return err ? 1 : 0;
}
