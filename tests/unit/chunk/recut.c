/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recut.h"

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

/* A loss across the end is in doubt in both chunks, and counted in the next one, as in a recorder.
 */
static int copy_loss(struct chunk_stream *to, const struct record_head *record, uint64_t end_ns)
{
	struct record_lost lost = *(const struct record_lost *)record;

	if (record->kind != RECORD_lost || lost.begin_ns >= end_ns - 1)
		return 0;
	lost.head.time_ns = end_ns - 1;
	lost.count = 0;
	return chunk_writer_add(to, &lost.head);
}

static int copy_stream(struct chunk_reader *r, size_t index, struct chunk_writer *w,
		       const struct recut_range *range, struct error *e)
{
	struct chunk_stream *to = same_stream(w, chunk_reader_stream_name(r, index));
	const struct record_head *record;
	int got;

	if (!to)
		return error_set(e, ENOMEM, "cannot copy a stream");
	while ((got = chunk_reader_stream_next(r, index, &record, e)) > 0) {
		int cpu = record->cpu % RECUT_CPUS, err;

		if (record->time_ns < range->from_ns[cpu])
			continue;
		if (record->time_ns >= range->to_ns[cpu])
			err = copy_loss(to, record, range->to_ns[cpu]);
		else
			err = chunk_writer_add(to, record);
		if (err)
			return error_set(e, err, "cannot copy a record");
	}
	return got;
}

static void min_max(const uint64_t *times, uint64_t *min, uint64_t *max)
{
	*min = *max = times[0];
	for (int i = 1; i < RECUT_CPUS; i++) {
		*min = times[i] < *min ? times[i] : *min;
		*max = times[i] > *max ? times[i] : *max;
	}
}

int recut(const char *path, const struct chunk_writer_options *options,
	  const struct recut_range *range, struct chunk_info *info, struct error *e)
{
	struct chunk_writer_options o = *options;
	const struct chunk_info *of;
	struct chunk_writer *w = NULL;
	struct chunk_reader *r;
	uint64_t end_ns;
	int err = chunk_reader_open(&r, path, e);

	if (err)
		return err;
	of = chunk_reader_info(r);
	min_max(range->from_ns, &o.begin_ns, &o.begun_ns);
	min_max(range->to_ns, &o.complete_ns, &end_ns);
	if (!o.host)
		o.host = of->host;
	if (!o.boot_id)
		o.boot_id = of->boot_id;
	if (!o.clock)
		o.clock = &of->clock;
	err = chunk_writer_open(&w, &o, e);
	for (size_t i = 0; i < chunk_reader_streams(r) && !err; i++)
		err = copy_stream(r, i, w, range, e);
	if (!err)
		err = chunk_writer_cut(w, end_ns, NULL, e);
	if (!err)
		err = chunk_writer_seal(w, info, e);
	chunk_writer_close(w);
	chunk_reader_close(r);
	return err;
}
