/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads the parts of a partial, in the order of archive_whole(). Numbers are varints
 * unless map/checkpoint/archive.h says otherwise. A list is its count and its elements. If the
 * order of a list depends on how partials were merged, and so means nothing, its elements are
 * sorted by their bytes (archive_set()). Threads are in the order of time, application spans in
 * that of ids.
 *
 * A change of a function that describes a part, or of a struct that it describes, must raise
 * PARTIAL_FILE_VERSION (map/file/file.c).
 */
#include "map/file/whole.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/internal.h"
#include "map/fact/facts.h"
#include "map/file/internal.h"
#include "map/losses.h"
#include "map/partial.h"
#include "map/uneven_cut.h"

/* ---- what was lost ---- */

/* Without the padding behind its last field, which may hold anything. */
#define LOSS_BYTES                                                                                 \
	(offsetof(struct record_lost, begin_ns) + sizeof(((struct record_lost *)NULL)->begin_ns))

static void archive_loss(struct archive *a, struct record_lost *lost)
{
	archive_bytes(a, lost, LOSS_BYTES);
	if (lost->head.kind != RECORD_lost || lost->begin_ns >= lost->head.time_ns ||
	    lost->head.time_ns > RECORD_TIME_END_NS)
		archive_fail(a, -EBADMSG);
}

/* A loss whose end is not known yet. */
static void archive_hole(struct archive *a, struct record_lost *lost)
{
	archive_bytes(a, lost, LOSS_BYTES);
	if (lost->head.kind != RECORD_lost || lost->begin_ns > RECORD_TIME_END_NS ||
	    lost->head.time_ns > RECORD_TIME_END_NS)
		archive_fail(a, -EBADMSG);
}

/* Lives hold the number of losses that they have heard of. */
static void losses_check(struct archive *a, const struct partial *p)
{
	for (size_t i = 0; i < p->lives.count; i++) {
		const struct life *l = p->lives.data[i];

		if (l->losses_before > l->losses_seen || l->losses_seen > p->losses.count)
			archive_fail(a, -EBADMSG);
	}
	if (p->losses_told > p->losses.count)
		archive_fail(a, -EBADMSG);
}

static u64 holes_since(const struct partial *p)
{
	u64 since_ns = UINT64_MAX;

	for (size_t i = 0; i < p->holes.count; i++)
		if (p->holes.data[i].begin_ns < since_ns)
			since_ns = p->holes.data[i].begin_ns;
	return since_ns;
}

static void archive_losses(struct archive *a, struct partial *p)
{
	archive_list(a, &p->losses, archive_loss);
	archive_u32(a, &p->losses_told);
	archive_list(a, &p->holes, archive_hole);
	archive_set(a, &p->span_losses, archive_span_loss);
	for (size_t i = 0; i < sizeof(p->lost) / sizeof(p->lost[0]); i++)
		archive_u64(a, &p->lost[i]);
	archive_u64(a, &p->left_out);
	if (!archive_reads(a))
		return;
	p->holes_since_ns = holes_since(p);
	losses_check(a, p);
}

/* ---- the rest ---- */

static void archive_unsure(struct archive *a, struct unsure *u)
{
	archive_u32(a, &u->pid);
	archive_u32(a, &u->tid);
	archive_time(a, &u->begin_ns);
	archive_time(a, &u->end_ns);
	archive_u64(a, &u->before_ns);
}

static void archive_gap(struct archive *a, struct record_gap *gap)
{
	archive_bytes(a, gap, sizeof(*gap));
	if (gap->head.kind != RECORD_gap || gap->begin_ns > gap->head.time_ns ||
	    gap->head.time_ns > RECORD_TIME_END_NS)
		archive_fail(a, -EBADMSG);
}

static void archive_taken(struct archive *a, u32 *tid)
{
	archive_u32(a, tid);
}

/* Thread ids that an exec gave to another thread. */
static void archive_taken_all(struct archive *a, struct partial *p)
{
	VEC(u32) tids = {0};
	struct map_entry entry;
	size_t at = 0;

	while (!archive_reads(a) && map_next(&p->taken, &at, &entry))
		if (vec_push(&tids, (u32)entry.key))
			archive_fail(a, -ENOMEM);
	archive_set(a, &tids, archive_taken);
	for (size_t i = 0; i < tids.count && archive_reads(a) && !a->err; i++)
		if (map_put(&p->taken, tids.data[i], PRESENT))
			archive_fail(a, -ENOMEM);
	vec_free(&tids);
}

/* Records around an uneven cut. */
static void archive_cuts(struct archive *a, struct partial *p)
{
	archive_bool(a, &p->uneven);
	archive_time(a, &p->late_ns);
	archive_time(a, &p->begin_ns);
	archive_time(a, &p->begun_ns);
	archive_u64(a, &p->complete_ns);
	if (!archive_reads(a))
		uneven_cuts_sort(p);
	archive_list(a, &p->raw.list, archive_raw);
	p->raw.unsorted = archive_reads(a) && p->raw.list.count;
}

static void archive_whole(struct archive *a, struct partial *p)
{
	archive_time(a, &p->from_ns);
	archive_time(a, &p->to_ns);
	if (archive_reads(a))
		checkpoint_lives_read(a, p);
	else
		checkpoint_lives_write(a, p);
	archive_u64(a, &p->fed);
	cpu_turns_archive(a, &p->turns);
	archive_taken_all(a, p);
	facts_archive(a, &p->facts, false);
	if (archive_reads(a))
		checkpoint_spans_read(a, p);
	else
		checkpoint_spans_write(a, p);
	archive_set(a, &p->unsure, archive_unsure);
	whole_sums(a, p);
	whole_events(a, p);
	samples_archive(a, &p->samples);
	samples_archive(a, &p->wait_stacks);
	whole_kernel_spans(a, p);
	archive_cuts(a, p);
	archive_losses(a, p);
	archive_set(a, &p->filters_told, archive_filter);
	archive_list(a, &p->gaps, archive_gap);
	archive_u32(a, &p->cpus);
	archive_u64(a, &p->steal_ns);
	whole_costs(a, p);
}

int partial_write(struct partial *p, struct bytes *out)
{
	struct archive a = {.out = out, .whole = true};

	if (p->finished || p->options.only)
		return -EINVAL;
	if (losses_order(p))
		return -ENOMEM;
	archive_whole(&a, p);
	return out->failed ? -ENOMEM : a.err;
}

int partial_read(struct partial **out, const void *data, size_t bytes,
		 const struct partial_options *options)
{
	struct archive a = {.in = bytes_reader_over(data, bytes), .whole = true};
	struct partial *p = partial_new(options);

	if (!p)
		return -ENOMEM;
	a.texts = &p->facts.texts;
	archive_whole(&a, p);
	if (!a.err && a.in.at != a.in.end)
		a.err = -EBADMSG;
	if (a.err) {
		partial_free(p);
		return a.err;
	}
	*out = p;
	return 0;
}
