/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "chunk/chunk.h"

static void tell_damage(void *arg, const char *text)
{
	fprintf(stderr, "fathom: %s\n", text);
}

/* A point in time of the options as the monotonic clock; 0: not given. */
static u64 absolute(const struct option_time *t, const struct recording_info *info)
{
	switch (t->kind) {
	case OPTION_TIME_MONOTONIC:
		return t->ns;
	case OPTION_TIME_SINCE_BEGIN:
		return info->begin_ns + t->ns;
	default:
		return 0;
	}
}

/* The gap that ends where a chunk begins, NULL: it follows on the one before. */
static const struct recording_gap *gap_before(const struct recording_info *info, size_t i)
{
	for (size_t g = 0; g < info->gap_count; g++)
		if (info->gaps[g].to_ns == info->chunks[i].begin_ns)
			return &info->gaps[g];
	return NULL;
}

static void lost_add(struct lost_view *sum, const struct chunk_lost *more)
{
	sum->buffer += more->buffer;
	sum->recursion += more->recursion;
	sum->application += more->application;
	sum->damaged += more->damaged;
}

/* Applies all records of a chunk. */
static int chunk_apply(struct source *s, struct partial *p, const char *path, struct error *e)
{
	const struct record_head *record;
	struct chunk_reader *reader;
	int err = chunk_reader_open(&reader, path, e);

	if (err)
		return err;
	while ((err = chunk_reader_next(reader, &record, e)) > 0) {
		err = partial_apply(p, record);
		if (err) {
			error_set(e, err, "cannot map %s", path);
			break;
		}
	}
	lost_add(&s->view.lost, &chunk_reader_info(reader)->lost);
	if (chunk_reader_damage(reader))
		fprintf(stderr, "fathom: %s\n", chunk_reader_damage(reader));
	chunk_reader_close(reader);
	return err;
}

/* map(chunk): needs no other chunk; a gap before it is part of it. */
static int chunk_map(struct source *s, const struct recording_info *info, size_t i,
		     const struct partial_options *options, struct error *e)
{
	const struct recording_gap *gap = gap_before(info, i);
	struct partial *p = partial_new(options);
	int err = p ? 0 : error_set(e, ENOMEM, "cannot map %s", info->chunks[i].path);

	if (!err && info->chunks[i].state == CHUNK_SEALED &&
	    (info->chunks[i].begun_ns > info->chunks[i].begin_ns ||
	     info->chunks[i].complete_ns < info->chunks[i].end_ns))
		partial_streams(p, info->chunks[i].begun_ns, info->chunks[i].complete_ns);
	if (!err && gap) {
		struct record_gap r = {.head = {.kind = RECORD_gap, .time_ns = gap->to_ns},
				       .begin_ns = gap->from_ns};

		err = partial_apply(p, &r.head);
	}
	if (!err)
		err = chunk_apply(s, p, info->chunks[i].path, e);
	if (err) {
		partial_free(p);
		return err;
	}
	partial_cover(p, info->chunks[i].begin_ns, info->chunks[i].end_ns);
	err = partial_merge(s->partial, p);
	return err ? error_set(e, err, "cannot merge %s", info->chunks[i].path) : 0;
}

static int describe(struct source *s, const struct recording_info *info, struct error *e)
{
	int err = 0;

	snprintf(s->host, sizeof(s->host), "%s", info->host);
	snprintf(s->boot_id, sizeof(s->boot_id), "%s", info->boot_id);
	s->boot = hash_bytes(s->boot_id, strlen(s->boot_id));
	for (size_t i = 0; i < info->chunk_count && !err; i++) {
		const struct chunk_clock *c = &info->chunks[i].clock;

		err = vec_push(&s->clocks, (struct clock_view){s->host, s->boot_id, c->monotonic_ns,
							       c->unix_ns});
	}
	for (size_t i = 0; i < info->gap_count && !err; i++)
		err = vec_push(&s->gaps,
			       (struct gap_view){info->gaps[i].from_ns, info->gaps[i].to_ns});
	if (err)
		return error_set(e, err, "cannot describe the recording");
	s->view.clocks = s->clocks.data;
	s->view.clocks_count = s->clocks.count;
	s->view.gaps = s->gaps.data;
	s->view.gaps_count = s->gaps.count;
	s->view.incomplete = info->incomplete;
	return 0;
}

static int recording_map(struct source *out, const struct source_options *o,
			 const struct recording_info *info, struct error *e)
{
	struct partial_options options = {.spans = o->spans,
					  .from_ns = absolute(&o->from, info),
					  .to_ns = absolute(&o->to, info)};
	int err = 0;

	out->from_ns = options.from_ns ? options.from_ns : info->begin_ns;
	out->to_ns = options.to_ns ? options.to_ns : info->end_ns;
	out->partial = partial_new(&options);
	if (!out->partial)
		return error_set(e, ENOMEM, "cannot map the recording");
	for (size_t i = 0; i < info->chunk_count && !err; i++)
		err = chunk_map(out, info, i, &options, e);
	if (!err && (err = partial_finish(out->partial)))
		error_set(e, err, "cannot finish the answer");
	out->view.filters = out->partial->filters;
	out->view.steal_ns = out->partial->steal_ns;
	out->view.cpu_ns = (out->to_ns - out->from_ns) * out->partial->cpus;
	return err;
}

int source_load(const struct source_options *o, struct source *out, struct error *e)
{
	struct recording_options reading = {.boot = o->boot, .damage = tell_damage};
	struct recording *recording = NULL;
	int err;

	*out = (struct source){0};
	err = recording_open(&recording, o->dirs, o->dirs_count, &reading, e);
	if (err)
		return err;
	err = recording_map(out, o, recording_info(recording), e);
	if (!err)
		err = describe(out, recording_info(recording), e);
	recording_close(recording);
	return err;
}

void source_free(struct source *source)
{
	partial_free(source->partial);
	vec_free(&source->clocks);
	vec_free(&source->gaps);
	source->partial = NULL;
}
