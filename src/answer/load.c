/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/checkpoints.h"
#include "answer/describe.h"
#include "answer/mapper.h"
#include "answer/range.h"
#include "base/names.h"
#include "chunk/chunk.h"

/* The part of [from_ns, to_ns) in the range of the answer. */
static u64 inside(const struct source *s, u64 from_ns, u64 to_ns)
{
	u64 from = from_ns > s->from_ns ? from_ns : s->from_ns;
	u64 to = to_ns < s->to_ns ? to_ns : s->to_ns;

	return from < to ? to - from : 0;
}

/*
 * Merges the result of a chunk, and takes ownership of it. A chunk that cannot be read is counted
 * as lost. -ESTALE: it was deleted meanwhile.
 */
static int chunk_take(struct source *s, const struct chunk_info *info, struct leaf_mapped *mapped,
		      u64 *covered_ns, struct error *e)
{
	u64 covers_ns;
	int err = mapped->err;

	if (err == -ENOMEM) {
		*e = mapped->why;
		return err;
	}
	if ((err || mapped->found.damage[0]) && chunk_is_gone(info)) {
		partial_free(mapped->partial);
		return -ESTALE;
	}
	if (err) {
		notice_tell(&s->notice, "%s", mapped->why.text);
		s->view.lost.damaged += info->records;
		return 0;
	}
	lost_add(&s->view.lost,
		 &(struct lost_view){mapped->found.lost.buffer, mapped->found.lost.recursion,
				     mapped->found.lost.application, mapped->found.lost.damaged});
	if (mapped->found.damage[0])
		notice_tell(&s->notice, "%s", mapped->found.damage);
	covers_ns = chunk_covers_to(info);
	if (covers_ns > *covered_ns) {
		s->recorded_ns += inside(
			s, info->begin_ns > *covered_ns ? info->begin_ns : *covered_ns, covers_ns);
		*covered_ns = covers_ns;
	}
	err = partial_merge(s->partial, mapped->partial);
	return err ? error_set(e, err, "cannot merge %s", info->path) : 0;
}

/* Describes the source, without chunks that the checkpoint replaces and gaps out of the range. */
static int describe(struct source *s, const struct recording_info *info, struct error *e)
{
	u64 begin_ns = info->chunks[s->first].begin_ns;
	int err = 0;

	snprintf(s->host, sizeof(s->host), "%s", info->host);
	source_name_boot(s, info->boot_id);
	s->view.lost.damaged += info->illegible;
	s->view.incomplete = info->incomplete;
	for (size_t i = 0; i < s->first; i++)
		s->view.incomplete -= info->chunks[i].incomplete;
	for (size_t i = s->first; i < info->chunk_count && !err; i++) {
		const struct chunk_clock *c = &info->chunks[i].clock;

		names_join(s->missing, sizeof(s->missing), info->chunks[i].missing);
		err = source_add_clock(s, c->monotonic_ns, c->unix_ns);
	}
	for (size_t i = 0; i < info->gap_count && !err; i++)
		if (info->gaps[i].to_ns > begin_ns && info->gaps[i].to_ns > s->from_ns &&
		    info->gaps[i].from_ns < s->to_ns)
			err = vec_push(&s->gaps, (struct gap_view){.from_ns = info->gaps[i].from_ns,
								   .to_ns = info->gaps[i].to_ns});
	err = err ? err : source_describe(s);
	return err ? error_set(e, err, "cannot describe the recording") : 0;
}

/* The length of the recording's part in a chunk's path; the whole path without one. */
static int place_length(const struct chunk_info *chunk)
{
	const char *slash = strrchr(chunk->path, '/');

	return (int)(slash > chunk->path ? (size_t)(slash - chunk->path) : strlen(chunk->path));
}

/* Refuses recordings that overlap in time: what both recorded would count twice. */
static int overlap_check(const struct recording *recording, struct error *e)
{
	const struct chunk_info *pair[2];
	int one, other;

	if (!recording_overlap(recording, pair))
		return 0;
	one = place_length(pair[0]);
	other = place_length(pair[1]);
	if (one == other && strncmp(pair[0]->path, pair[1]->path, (size_t)one) == 0) {
		one = (int)strlen(pair[0]->path);
		other = (int)strlen(pair[1]->path);
	}
	return error_say(e, EEXIST,
			 "%.*s and %.*s overlap in time, and what both recorded would count twice: "
			 "ask for each of them alone (one recorder can follow several: -p A -p B)",
			 one, pair[0]->path, other, pair[1]->path);
}

/*
 * Makes the begin of the answer. A limit that excludes nothing is removed: spans that are open at
 * an end of the recording belong to a range that reaches this end, unless more chunks will come.
 * There may be a gap between a checkpoint and the first chunk: the answer begins after it.
 */
static int begin(struct source *out, struct checkpoints *checkpoints,
		 const struct recording_info *info, bool more, struct partial_options *range)
{
	u64 begin_ns;
	int err;

	out->from_ns = range->from_ns;
	out->to_ns = range->to_ns && range->to_ns < info->end_ns ? range->to_ns : info->end_ns;
	if (!range->to_ns || range->to_ns >= info->end_ns)
		range->to_ns = more ? info->end_ns : 0;
	if (range->from_ns <= info->begin_ns)
		range->from_ns = 0;
	err = checkpoints_begin(checkpoints, info, range, &out->partial, &out->first);
	begin_ns = info->chunks[out->first].begin_ns;
	if (!err && !checkpoints->given && out->partial->options.from_ns &&
	    out->partial->options.from_ns < begin_ns) {
		range->from_ns = begin_ns;
		partial_free(out->partial);
		out->partial = NULL;
		err = checkpoints_begin(checkpoints, info, range, &out->partial, &out->first);
	}
	/* a checkpoint that is given ends where the caller's answer begins */
	if (!out->from_ns || (out->from_ns < begin_ns && !checkpoints->given))
		out->from_ns = begin_ns;
	return err;
}

/* ---- the chunks ---- */

struct stretch {
	size_t at, count;
};

/* The state of reading from the first chunk to the last one. */
struct reading {
	struct source *out;
	struct checkpoints *checkpoints;
	struct recording *recording;
	const struct load_progress *progress;
	u64 bytes, done_bytes;		 /* of the chunks: all, and those that are read */
	VEC(struct leaf) leaves;	 /* the chunks from the first one on */
	VEC(struct stretch) passed_over; /* chunks that a checkpoint in their middle replaces */
};

/* Lists the leaves, under the assumption that each chunk is readable. */
static int leaves_list(struct reading *r, u64 covered_ns)
{
	const struct recording_info *info = recording_info(r->recording);
	int err = 0;

	for (size_t i = r->out->first; i < info->chunk_count && !err; i++) {
		const struct chunk_info *chunk = &info->chunks[i];

		err = vec_push(&r->leaves, ((struct leaf){chunk, covered_ns}));
		if (chunk_covers_to(chunk) > covered_ns)
			covered_ns = chunk_covers_to(chunk);
		r->bytes += chunk->bytes;
	}
	return err;
}

static void progress_tell(struct reading *r, size_t from, size_t to)
{
	for (; from < to; from++)
		r->done_bytes += recording_info(r->recording)->chunks[from].bytes;
	if (r->progress->tell)
		r->progress->tell(r->progress->arg, r->done_bytes, r->bytes);
}

static int leaves_merge(struct reading *r, struct mapper *mapper, struct error *e)
{
	const struct recording_info *info = recording_info(r->recording);
	struct source *out = r->out;
	struct answer_reach reach = {out->first, out->partial->to_ns};
	int err = 0;

	while (reach.next < info->chunk_count && !err) {
		size_t at = reach.next;
		const struct chunk_info *chunk = &info->chunks[at];
		struct leaf_mapped mapped;

		err = checkpoints_insert(r->checkpoints, info, out->partial, &reach);
		if (!err && reach.next > at)
			err = vec_push(&r->passed_over, ((struct stretch){at, reach.next - at}));
		if (err)
			return error_set(e, err, "cannot merge %s", chunk->path);
		chunk = &info->chunks[reach.next];
		mapper_take(mapper, reach.next - out->first, reach.covered_ns, &mapped);
		err = chunk_take(out, chunk, &mapped, &reach.covered_ns, e);
		if (err == -ESTALE && out->last_try) /* its time is a gap */
			err = 0;
		progress_tell(r, at, ++reach.next);
	}
	return err;
}

static int chunks_map(struct reading *r, u64 threads, struct error *e)
{
	const struct partial *p = r->out->partial;
	struct mapper *mapper = NULL;
	int err = leaves_list(r, p->to_ns);

	err = err ? err
		  : mapper_open(&mapper, r->leaves.data, r->leaves.count, &p->options, threads);
	if (err)
		error_set(e, err, "cannot map the recording");
	else
		err = leaves_merge(r, mapper, e);
	mapper_close(mapper);
	while (!err && r->passed_over.count) {
		const struct stretch *last = &r->passed_over.data[--r->passed_over.count];

		err = recording_pass_over(r->recording, last->at, last->count);
	}
	vec_free(&r->leaves);
	vec_free(&r->passed_over);
	return err;
}

static int recording_map(struct source *out, const struct source_options *o,
			 struct recording *recording, struct checkpoints *checkpoints,
			 struct error *e)
{
	const struct recording_info *info = recording_info(recording);
	struct partial_options options = {
		.spans = o->spans, .only = o->only, .hits = o->hits, .sums = o->sums};
	struct partial_options asked;
	struct reading reading = {.out = out,
				  .checkpoints = checkpoints,
				  .recording = recording,
				  .progress = &o->progress};
	int err = overlap_check(recording, e);

	range_points(&o->from, &o->to, info, &options);
	asked = options;
	err = err ? err : range_check(&options, info->begin_ns, info->end_ns, e);
	if (err)
		return err;
	err = begin(out, checkpoints, info, o->more, &options);
	if (err)
		error_set(e, err, "cannot map the recording");
	else
		err = range_check(&asked, info->chunks[out->first].begin_ns, info->end_ns, e);
	err = err ? err : chunks_map(&reading, o->threads, e);
	if (err)
		return err;
	err = partial_finish(out->partial);
	if (err)
		return error_set(e, err, "cannot finish the answer");
	if (out->partial->left_out)
		notice_tell(&o->notice,
			    "of more than %u threads not all are shown of those that do "
			    "nothing",
			    LIVES_MAX);
	return 0;
}

int source_map(struct source *out, const struct source_options *o, struct recording *recording,
	       struct checkpoints *checkpoints, struct error *e)
{
	int err;

	*out = (struct source){.notice = o->notice, .last_try = o->last_try};
	err = recording_map(out, o, recording, checkpoints, e);
	return err ? err : describe(out, recording_info(recording), e);
}

static int load_once(const struct source_options *o, struct source *out, struct error *e)
{
	struct recording_options reading = {
		.boot = o->boot, .after = o->after, .damage = o->notice.tell, .arg = o->notice.arg};
	struct checkpoints checkpoints = {
		.dirs = o->dirs, .count = o->dirs_count, .notice = o->notice};
	struct recording *recording = NULL;
	int err;

	err = recording_open(&recording, o->dirs, o->dirs_count, &reading, e);
	if (err)
		return err;
	err = checkpoints_open(&checkpoints, o->checkpoint);
	if (err)
		error_set(e, err, "cannot load the recording");
	else
		err = source_map(out, o, recording, &checkpoints, e);
	checkpoints_close(&checkpoints);
	recording_close(recording);
	return err;
}

int source_load(const struct source_options *o, struct source *out, struct error *e)
{
	struct source_options options = *o;
	int err = -ESTALE;

	for (int again = SOURCE_READ_AGAIN; err == -ESTALE && again >= 0; again--) {
		error_clear(e);
		*out = (struct source){0};
		options.last_try = !again;
		err = load_once(&options, out, e);
		if (err == -ESTALE)
			source_free(out);
	}
	return err;
}

void source_free(struct source *source)
{
	partial_free(source->partial);
	vec_free(&source->clocks);
	vec_free(&source->gaps);
	vec_free(&source->steps);
	source->partial = NULL;
}
