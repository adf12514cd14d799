/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout: "fathombs", CHECKPOINT_VERSION, the record contract's version, then what
 * checkpoint_write() and checkpoint_parse() say, in their order. A change of a function that
 * describes some of it (lives.c, spans.c, fact_kind.archive), of a struct that it describes, or of
 * the order of FACT_KINDS raises CHECKPOINT_VERSION: a checkpoint of another version is not read.
 * The file around it has the checksum.
 */
#include "map/checkpoint/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/archive.h"
#include "map/checkpoint/internal.h"
#include "map/checkpoint/prune.h"
#include "map/fact/kind.h"
#include "record/describe.h"

#define CHECKPOINT_VERSION 36

static const char magic[8] = "fathombs";

/* ---- formats, records that wait, losses ---- */

void archive_format(struct archive *a, struct event_text *f)
{
	archive_u32(a, &f->format);
	archive_text(a, &f->text, &f->bytes);
	if (!f->text)
		archive_fail(a, -EBADMSG);
}

void archive_raw(struct archive *a, struct raw_record *r)
{
	char *record = (char *)r->record;

	archive_text(a, &record, &r->bytes);
	archive_bool(a, &r->earlier);
	if (!archive_reads(a))
		return;
	if (!a->err)
		archive_fail(a, raw_read(r, record));
	free(record);
}

static void archive_loss(struct archive *a, struct record_lost *lost)
{
	u64 begin_ns = lost->begin_ns, end_ns = lost->head.time_ns;

	archive_time(a, &begin_ns);
	archive_time(a, &end_ns);
	if (begin_ns >= end_ns)
		archive_fail(a, -EBADMSG);
	lost->head.kind = RECORD_lost;
	lost->head.cpu = LIFE_CPU_UNKNOWN;
	lost->head.time_ns = end_ns;
	lost->begin_ns = begin_ns;
}

void archive_span_loss(struct archive *a, struct interval *loss)
{
	archive_u32(a, &loss->owner);
	archive_time(a, &loss->begin_ns);
	archive_time(a, &loss->end_ns);
	if (loss->begin_ns >= loss->end_ns)
		archive_fail(a, -EBADMSG);
}

void archive_filter(struct archive *a, struct filter_told *told)
{
	archive_time(a, &told->time_ns);
	archive_u32(a, &told->flags);
}

static void archive_losses(struct archive *a, struct partial *p)
{
	archive_list(a, &p->losses, archive_loss);
	p->losses_told = (u32)p->losses.count;
	for (size_t i = 0; i < p->lives.count; i++)
		p->lives.data[i]->losses_before = p->lives.data[i]->losses_seen = p->losses_told;
}

void archive_waiting(struct archive *a, struct waiting_detail *w)
{
	archive_u32(a, &w->tid);
	archive_u64(a, &w->detail.call_ns);
	archive_shared_path(a, &w->detail.path);
	archive_u32(a, &w->detail.mounts);
	archive_file(a, &w->detail.ended);
	archive_time(a, &w->detail.ended_ns);
	if (!w->detail.path && !w->detail.ended.kind)
		archive_peer(a, &w->detail.peer);
	if (!w->detail.call_ns)
		archive_fail(a, -EBADMSG);
}

static void archive_details(struct archive *a, struct details *d)
{
	struct waiting_details all = {0};

	if (!archive_reads(a) && waiting_details_of(d, &all))
		archive_fail(a, -ENOMEM);
	archive_list(a, &all, archive_waiting);
	if (archive_reads(a) && !a->err && waiting_details_put(d, &all))
		archive_fail(a, -ENOMEM);
	vec_free(&all);
}

static void archive_rest(struct archive *a, struct partial *p)
{
	archive_bool(a, &p->uneven);
	archive_time(a, &p->begun_ns);
	archive_u64(a, &p->complete_ns);
	archive_list(a, &p->raw.list, archive_raw);
	archive_list(a, &p->events.formats, archive_format);
	archive_list(a, &p->filters_told, archive_filter);
	archive_u32(a, &p->cpus);
	archive_losses(a, p);
	archive_list(a, &p->span_losses, archive_span_loss);
	archive_details(a, &p->details);
	cpu_turns_archive(a, &p->turns);
}

/* ---- the whole ---- */

int checkpoint_write(struct partial *p, struct bytes *out)
{
	u32 versions[2] = {CHECKPOINT_VERSION, RECORD_CONTRACT_VERSION};
	struct archive a = {.out = out};
	int err = checkpoint_prune(p);

	if (err)
		return err;
	bytes_put(out, magic, sizeof(magic));
	archive_u32(&a, &versions[0]);
	archive_u32(&a, &versions[1]);
	archive_time(&a, &p->from_ns);
	archive_time(&a, &p->to_ns);
	checkpoint_lives_write(&a, p);
	facts_archive(&a, &p->facts, true);
	checkpoint_spans_write(&a, p);
	archive_rest(&a, p);
	return out->failed ? -ENOMEM : a.err;
}

static int checkpoint_parse(struct archive *a, struct partial *p)
{
	char head[sizeof(magic)] = "";
	u32 versions[2] = {0};
	u64 from_ns = 0, at_ns = 0;

	archive_bytes(a, head, sizeof(head));
	if (memcmp(head, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	archive_u32(a, &versions[0]);
	archive_u32(a, &versions[1]);
	if (!a->err &&
	    (versions[0] != CHECKPOINT_VERSION || versions[1] != RECORD_CONTRACT_VERSION))
		return -EPROTO;
	archive_time(a, &from_ns);
	archive_time(a, &at_ns);
	checkpoint_lives_read(a, p);
	facts_archive(a, &p->facts, true);
	checkpoint_spans_read(a, p);
	archive_rest(a, p);
	partial_cover(p, from_ns, at_ns);
	if (!a->err && a->in.at != a->in.end)
		return -EBADMSG;
	return a->err ? a->err : events_index(&p->events);
}

int checkpoint_read(struct partial **checkpoint, const void *data, size_t bytes,
		    const struct partial_options *options)
{
	struct archive a = {.in = bytes_reader_over(data, bytes)};
	struct partial *p = partial_new(options);
	int err = -ENOMEM;

	if (p) {
		a.texts = &p->facts.texts;
		err = checkpoint_parse(&a, p);
	}
	if (err) {
		partial_free(p);
		return err;
	}
	*checkpoint = p;
	return 0;
}

int checkpoint_follow(struct partial *checkpoint, u64 covered_ns, u64 at_ns)
{
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = at_ns},
				 .begin_ns = covered_ns};

	for (size_t i = 0; i < checkpoint->lives.count; i++) {
		struct life *l = checkpoint->lives.data[i];

		l->severed = true;
		if (l->origin_ns < at_ns)
			l->origin_ns = at_ns;
	}
	for (size_t i = 0; i < checkpoint->facts.follows.count; i++) /* in force behind it, too */
		if (checkpoint->facts.follows.data[i].time_ns < at_ns)
			checkpoint->facts.follows.data[i].time_ns = at_ns;
	for (size_t i = 0; i < checkpoint->filters_told.count; i++)
		if (checkpoint->filters_told.data[i].time_ns < at_ns)
			checkpoint->filters_told.data[i].time_ns = at_ns;
	for (size_t i = 0; i < checkpoint->spans.count; i++)
		if (!checkpoint->spans.data[i]->gap_ns)
			checkpoint->spans.data[i]->open_ns = at_ns;
	cpu_turns_part(&checkpoint->turns);
	return vec_push(&checkpoint->gaps, gap);
}
