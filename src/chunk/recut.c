/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk made of a part of another. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/reader.h"

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

static int copy_stream(struct chunk_reader *r, size_t index, struct chunk_writer *w,
		       const uint64_t range[2], struct error *e)
{
	struct chunk_stream *to = same_stream(w, chunk_reader_stream_name(r, index));
	const struct record_head *record;
	int got;

	if (!to)
		return error_set(e, ENOMEM, "cannot copy a stream");
	while ((got = chunk_reader_stream_next(r, index, &record, e)) > 0) {
		if (record->time_ns < range[0] || record->time_ns >= range[1])
			continue;
		int err = chunk_writer_add(to, record);
		if (err)
			return error_set(e, err, "cannot copy a record");
	}
	return got;
}

int chunk_recut(const char *path, uint64_t from_ns, uint64_t to_ns,
		const struct chunk_writer_options *options, struct chunk_info *info,
		struct error *e)
{
	struct chunk_writer_options o = *options;
	const uint64_t range[2] = {from_ns, to_ns};
	struct chunk_writer *w = NULL;
	struct chunk_reader *r;
	int err = chunk_reader_open(&r, path, e);

	if (err)
		return err;
	o.begin_ns = from_ns;
	if (!o.host)
		o.host = r->info.host;
	if (!o.boot_id)
		o.boot_id = r->info.boot_id;
	if (!o.clock)
		o.clock = &r->info.clock;
	err = chunk_writer_open(&w, &o, e);
	for (size_t i = 0; i < r->count && !err; i++)
		err = copy_stream(r, i, w, range, e);
	if (!err)
		err = chunk_writer_cut(w, to_ns, NULL, e);
	if (!err)
		err = chunk_writer_seal(w, info, e);
	chunk_writer_close(w);
	chunk_reader_close(r);
	return err;
}
