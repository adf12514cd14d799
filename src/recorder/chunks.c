/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/chunks.h"

#include <errno.h>
#include <stdio.h>

#include "base/cpu_list.h"
#include "recorder/hook.h"

#define SEALS_FAILED_MAX 8 /* in a row; then the recording ends */

/* ---- the open chunk ---- */

static struct chunk_stream *app_stream_of(struct chunking *c, u32 pid)
{
	struct chunk_stream *stream = map_get(&c->apps, pid);

	if (stream)
		return stream;
	stream = chunk_writer_stream(c->writer, CHUNK_STREAM_APP, pid);
	return stream && map_put(&c->apps, pid, stream) == 0 ? stream : NULL;
}

static struct chunk_stream *stream_of(struct chunking *c, const struct capture_stream *s)
{
	if (s->kind == CAPTURE_STREAM_APP)
		return app_stream_of(c, s->id);
	if (s->kind == CAPTURE_STREAM_LIFE) {
		if (!c->life)
			c->life = chunk_writer_stream(c->writer, CHUNK_STREAM_LIFE, 0);
		return c->life;
	}
	while (c->cpus.count <= s->id)
		if (vec_push(&c->cpus, NULL))
			return NULL;
	if (!c->cpus.data[s->id])
		c->cpus.data[s->id] = chunk_writer_stream(c->writer, CHUNK_STREAM_CPU, s->id);
	return c->cpus.data[s->id];
}

static int take_record(void *arg, const struct capture_stream *s, const struct record_head *record)
{
	struct chunking *c = arg;
	struct chunk_stream *stream = stream_of(c, s);
	int err = stream ? chunk_writer_add(stream, record) : -ENOMEM;

	c->taken++;
	c->taken_of_calls += record->kind == RECORD_syscall || record->kind == RECORD_fault ||
			     record->kind == RECORD_path;
	c->taken_of_bytes += record->kind == RECORD_bytes;
	return err == -ENOMEM ? err : 0; /* the writer counted any other failure as a loss */
}

static int take_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	struct chunk_stream *stream = stream_of(arg, s);

	if (!stream)
		return -ENOMEM;
	return chunk_writer_lost(stream, lost);
}

struct capture_sink chunking_sink(struct chunking *c)
{
	return (struct capture_sink){.arg = c, .record = take_record, .lost = take_lost};
}

bool chunking_is_open(const struct chunking *c)
{
	return c->writer;
}

u64 chunking_bytes(const struct chunking *c)
{
	return chunk_writer_bytes(c->writer);
}

u64 chunking_written(const struct chunking *c)
{
	return c->ended_bytes + (c->writer ? chunking_bytes(c) : 0);
}

/* The previous chunk is complete up to late_ns; 0: up to its end. */
static int writer_open(struct chunking *c, u64 begin_ns, u64 late_ns, struct chunk_writer **writer,
		       struct error *e)
{
	char cpus[CPU_LIST_BYTES], boot_id[CHUNK_BOOT_BYTES];
	struct chunk_writer_options o = {.dir = c->options.dir,
					 .hold = c->options.hold,
					 .begin_ns = begin_ns,
					 .late_ns = late_ns,
					 .seq = c->next_seq,
					 .cpus = cpu_list_online(cpus) ? NULL : cpus,
					 .missing = c->options.missing,
					 .filters = *c->options.filters,
					 .host = c->options.host,
					 .boot_id = boot_id,
					 .owner = c->options.owner,
					 .compress = c->options.compress};
	int err;

	chunk_boot_named(boot_id, c->options.host);
	err = chunk_writer_open(writer, &o, e);
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		error_hint(e, "choose a writable directory with -o");
	if (!err)
		c->next_seq = chunk_writer_seq(*writer) + 1;
	return err;
}

/* From now on `writer` is the open chunk; NULL: none is open. */
static void writer_set(struct chunking *c, struct chunk_writer *writer)
{
	c->writer = writer;
	c->life = NULL;
	c->cpus.count = 0;
	map_free(&c->apps);
}

/* Cuts the chunk and hands it to the sealer, which owns its writer from then on. */
static int writer_end(struct chunking *c, u64 cut_ns, u64 incomplete, struct chunk_writer *next,
		      struct error *e)
{
	int err, pushed;

	/* fields that became incomplete since the last cut belong to this chunk */
	chunk_writer_incomplete(c->writer, incomplete - c->incomplete_written);
	c->incomplete_written = incomplete;
	err = chunk_writer_cut(c->writer, cut_ns, next, e);
	c->ended_bytes += chunking_bytes(c);
	pushed = chunk_sealer_push(c->sealer, c->writer);
	if (pushed)
		chunk_writer_close(c->writer);
	else
		control_rotates(c->control);
	writer_set(c, next);
	if (!err && pushed)
		err = error_set(e, pushed, "cannot seal the chunk");
	return err;
}

int chunking_begin(struct chunking *c, u64 begin_ns, struct error *e)
{
	struct chunk_writer *writer;
	int err = writer_open(c, begin_ns, 0, &writer, e);

	if (!err)
		writer_set(c, writer);
	return err;
}

void chunking_complete(struct chunking *c, u64 complete_ns)
{
	chunk_writer_complete(c->writer, complete_ns);
}

int chunking_flush(struct chunking *c, u64 until_ns, struct error *e)
{
	return chunk_writer_flush(c->writer, until_ns, e);
}

int chunking_end(struct chunking *c, u64 cut_ns, u64 incomplete, struct error *e)
{
	return writer_end(c, cut_ns, incomplete, NULL, e);
}

int chunking_rotate(struct chunking *c, u64 cut_ns, u64 complete_ns, u64 incomplete,
		    struct error *e)
{
	struct chunk_writer *next;
	int err = writer_open(c, cut_ns, complete_ns, &next, e);

	if (err)
		return err;
	chunk_writer_complete(c->writer, complete_ns);
	return writer_end(c, cut_ns, incomplete, next, e);
}

void chunking_abandon(struct chunking *c)
{
	chunk_writer_abandon(c->writer);
	writer_set(c, NULL);
}

void chunking_moved(struct chunking *c, const char *dir)
{
	c->options.dir = dir;
	if (c->writer)
		chunk_writer_moved(c->writer, dir);
}

/* ---- chunks that have ended ---- */

/* Prints the first failure in a row at once: a recorder may go on for days. */
static void seal_failed(struct chunking *c, const struct error *e)
{
	bool report = !c->stopped && c->seals_failed++ == 0;

	if (!error_is_set(&c->seal_error))
		c->seal_error = *e;
	if (report)
		fprintf(stderr,
			"fathom: a chunk stays unsealed until the next 'fathom record' in this "
			"directory: %s\n",
			e->text);
}

/* Runs on the sealer's thread. */
static void chunk_sealed(void *arg, int err, const struct chunk_info *info, const struct error *e)
{
	struct chunking *c = arg;

	pthread_mutex_lock(&c->mutex);
	if (err) {
		seal_failed(c, e);
	} else {
		c->counts.records += info->records;
		c->counts.bytes += info->bytes;
		c->counts.plain += info->plain;
		c->counts.incomplete += info->incomplete;
		c->counts.lost.buffer += info->lost.buffer;
		c->counts.lost.recursion += info->lost.recursion;
		c->counts.lost.application += info->lost.application;
		c->counts.chunks++;
		c->seals_failed = 0;
	}
	pthread_mutex_unlock(&c->mutex);
	if (!err && c->options.on_chunk)
		hook_run(c->options.on_chunk, info->path);
	control_sealed(c->control, err ? NULL : info->path);
}

int chunking_start(struct chunking *c, struct control *control, struct error *e)
{
	c->control = control;
	return chunk_sealer_open(&c->sealer, chunk_sealed, c, e);
}

int chunking_check(struct chunking *c, struct error *e)
{
	int err = 0;

	pthread_mutex_lock(&c->mutex);
	if (c->seals_failed >= SEALS_FAILED_MAX) {
		*e = c->seal_error;
		err = error_say(e, e->err, "%u chunks in a row could not be sealed",
				c->seals_failed);
	}
	pthread_mutex_unlock(&c->mutex);
	return err;
}

void chunking_stopped(struct chunking *c)
{
	pthread_mutex_lock(&c->mutex);
	c->stopped = true;
	pthread_mutex_unlock(&c->mutex);
}

int chunking_finish(struct chunking *c, struct error *e)
{
	chunk_sealer_close(c->sealer);
	c->sealer = NULL;
	if (!error_is_set(&c->seal_error))
		return 0;
	*e = c->seal_error;
	return -e->err;
}

void chunking_counts(struct chunking *c, struct chunking_counts *out)
{
	pthread_mutex_lock(&c->mutex);
	*out = c->counts;
	pthread_mutex_unlock(&c->mutex);
}

/* ---- begin and end ---- */

void chunking_init(struct chunking *c, const struct chunking_options *options)
{
	*c = (struct chunking){.options = *options};
	pthread_mutex_init(&c->mutex, NULL);
}

void chunking_close(struct chunking *c)
{
	chunk_writer_close(c->writer);
	chunk_sealer_close(c->sealer);
	vec_free(&c->cpus);
	map_free(&c->apps);
	pthread_mutex_destroy(&c->mutex);
}
