/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uneven cuts: each stream of a chunk begins and ends at a time of its own.
 *
 * Between the first and the last of these times one neighbour has some of the
 * records and the other the rest, and no thread's life can be told from
 * either. So a partial applies what lies in its body, [begun_ns, complete_ns),
 * where no stream is missing, and carries the records outside as they are. As
 * neighbours merge, so do these: between the left body's end and the right
 * one's begin all streams are there again.
 */
#include "map/uneven_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/losses.h"
#include "map/partial.h"
#include "map/records.h"
#include "record/describe.h"

#define RAW_WHOLE_BYTES 256

void partial_streams(struct partial *p, u64 begun_ns, u64 complete_ns)
{
	p->uneven = true;
	p->begun_ns = begun_ns;
	p->complete_ns = complete_ns;
}

void partial_late(struct partial *p, u64 late_ns, u64 begin_ns)
{
	p->late_ns = late_ns;
	p->begin_ns = begin_ns;
}

/* The order in which a reader of all streams delivers records. */
static bool raw_before(const struct raw_record *a, const struct raw_record *b)
{
	const struct record_head *x = a->record, *y = b->record;

	return x->time_ns != y->time_ns ? x->time_ns < y->time_ns : x->cpu < y->cpu;
}

static int raw_compare(const void *a, const void *b)
{
	const struct raw_record *x = a, *y = b;

	if (raw_before(x, y))
		return -1;
	return raw_before(y, x) || x->number > y->number ? 1 : -1;
}

/* Late records come in order, but some get a later time: they are sorted once, at the end. */
static void raws_sort(struct raw_records *raw)
{
	for (size_t i = 0; i < raw->list.count && raw->unsorted; i++)
		raw->list.data[i].number = (u32)i;
	if (raw->unsorted)
		qsort(raw->list.data, raw->list.count, sizeof(*raw->list.data), raw_compare);
	raw->unsorted = false;
}

/* Copies a whole record; bytes that were not published read as zero. */
static int raw_copy(const struct record_head *r, struct raw_record *raw)
{
	size_t bytes = record_bytes(r), given = (size_t)r->slots * RECORD_SLOT_BYTES;
	size_t size = record_kind_info(r->kind)->size;

	raw->bytes = (u32)bytes;
	/* of a short kind the whole struct is there, however long its text */
	raw->record = calloc(1, size <= RAW_WHOLE_BYTES && size > bytes ? size : bytes);
	if (!raw->record)
		return -ENOMEM;
	memcpy(raw->record, r, given && given < bytes ? given : bytes);
	if (r->kind == RECORD_lost) { /* it may be no reader's, and what pads it anything */
		static const struct record_lost none;
		size_t fields = offsetof(struct record_lost, begin_ns) + sizeof(none.begin_ns);

		memset((char *)raw->record + fields, 0, sizeof(none) - fields);
	}
	return 0;
}

int raw_read(struct raw_record *raw, const char *data)
{
	const struct record_head *r = (const void *)data;
	const struct record_kind_info *info = raw->bytes >= sizeof(*r) ? record_kind_info(r->kind)
								       : NULL;

	raw->record = NULL;
	if (!info || raw->bytes < info->fixed_size || record_bytes(r) != raw->bytes ||
	    r->time_ns > RECORD_TIME_END_NS)
		return -EBADMSG;
	return raw_copy(r, raw);
}

int uneven_cut_keep(struct partial *p, const struct record_head *r, u64 time_ns)
{
	struct raw_record raw = {0};
	int err;

	if (!record_kind_info(r->kind))
		return 0;
	err = raw_copy(r, &raw);
	if (err)
		return err;
	raw.earlier = time_ns != r->time_ns;
	raw.record->time_ns = time_ns;
	if (p->raw.list.count && raw_before(&raw, &p->raw.list.data[p->raw.list.count - 1]))
		p->raw.unsorted = true;
	err = vec_push(&p->raw.list, raw);
	if (err)
		free(raw.record);
	return err;
}

/* Whether the record lies behind that time. A loss up to then belongs to the time before. */
static bool is_behind(const struct record_head *r, u64 to_ns)
{
	const struct record_lost *lost = (const void *)r;

	if (r->time_ns != to_ns || r->kind != RECORD_lost || lost->count == LOST_BEGINS)
		return r->time_ns >= to_ns;
	return lost->begin_ns >= to_ns;
}

/* Applies what is kept of [from_ns, to_ns), and keeps it no longer. */
int uneven_cut_apply(struct partial *p, u64 from_ns, u64 to_ns)
{
	size_t kept = 0;
	int err = 0;

	raws_sort(&p->raw);
	for (size_t i = 0; i < p->raw.list.count; i++) {
		struct raw_record *raw = &p->raw.list.data[i];

		if (err || raw->record->time_ns < from_ns || is_behind(raw->record, to_ns)) {
			p->raw.list.data[kept++] = *raw;
			continue;
		}
		err = raw->earlier ? partial_apply_outside(p, raw->record, 0)
				   : partial_apply_now(p, raw->record);
		free(raw->record);
	}
	p->raw.list.count = kept;
	return err;
}

/* The same of what no neighbour will complete: there it holds from clamp_ns on. */
int uneven_cut_apply_outside(struct partial *p, u64 from_ns, u64 to_ns, u64 clamp_ns)
{
	size_t kept = 0;
	int err = 0;

	raws_sort(&p->raw);
	for (size_t i = 0; i < p->raw.list.count; i++) {
		struct raw_record *raw = &p->raw.list.data[i];

		if (err || raw->record->time_ns < from_ns || raw->record->time_ns >= to_ns) {
			p->raw.list.data[kept++] = *raw;
			continue;
		}
		err = partial_apply_outside(p, raw->record, clamp_ns);
		free(raw->record);
	}
	p->raw.list.count = kept;
	return err;
}

/* Merges the records that both keep, in order. */
static int raws_merge(struct partial *left, struct partial *right)
{
	size_t i = 0, j = 0;
	struct raw_records all = {0};
	int err = vec_reserve(&all.list, left->raw.list.count + right->raw.list.count);

	if (err)
		return err;
	while (i < left->raw.list.count || j < right->raw.list.count) {
		bool from_right = i == left->raw.list.count ||
				  (j < right->raw.list.count &&
				   raw_before(&right->raw.list.data[j], &left->raw.list.data[i]));

		all.list.data[all.list.count++] = from_right ? right->raw.list.data[j++]
							     : left->raw.list.data[i++];
	}
	right->raw.list.count = 0;
	vec_free(&left->raw.list);
	left->raw = all;
	return 0;
}

/* The body, in which all streams are there; without uneven cuts it is the whole partial. */
void uneven_cut_body(const struct partial *p, u64 *from_ns, u64 *to_ns)
{
	*from_ns = p->uneven ? p->begun_ns : p->from_ns;
	*to_ns = p->uneven ? p->complete_ns : p->to_ns;
	if (*to_ns == UINT64_MAX && p->to_ns)
		*to_ns = p->to_ns;
}

bool uneven_cut_is_open(const struct partial *p)
{
	u64 from, to;

	uneven_cut_body(p, &from, &to);
	return p->raw.list.count || to < p->to_ns;
}

int uneven_cut_cut_holes(struct partial *p)
{
	u64 from, to;
	int err = 0;

	uneven_cut_body(p, &from, &to);
	if (to < from)
		to = from;
	for (size_t i = 0; p->uneven && i < p->holes.count && !err; i++) {
		struct record_lost lost = p->holes.data[i];

		if (lost.begin_ns >= to)
			continue;
		lost.head.time_ns = to;
		err = uneven_cut_keep(p, &lost.head, to);
	}
	raws_sort(&p->raw); /* a checkpoint keeps them as they stand */
	return err ? err : holes_end(p, to);
}

/* Streams that are missing in `right` before from_ns are missing in the body of `left`, too. */
static int holes_before(struct partial *left, const struct partial *right, u64 from_ns)
{
	int err = 0;

	for (size_t i = 0; i < right->raw.list.count && !err; i++) {
		const struct record_head *r = right->raw.list.data[i].record;

		if (r->kind == RECORD_lost && r->time_ns < from_ns)
			err = holes_follow(left, (const struct record_lost *)r);
	}
	return err;
}

static bool is_empty(const struct partial *p)
{
	return !p->uneven && !p->from_ns && !p->to_ns;
}

/* Behind the body: nobody will bring the rest of that time, so that it is a hole of any CPU. */
int uneven_cut_apply_tail(struct partial *p, u64 body_to_ns)
{
	struct record_lost hole = {.head = {.kind = RECORD_lost, .cpu = LIFE_CPU_UNKNOWN},
				   .count = LOST_BEGINS,
				   .begin_ns = body_to_ns};
	struct unsure anybody = {
		.begin_ns = body_to_ns, .end_ns = p->to_ns, .before_ns = UINT64_MAX};
	int err = partial_apply_now(p, &hole.head);

	err = err ? err : uneven_cut_apply(p, body_to_ns, UINT64_MAX);
	hole.head.time_ns = p->to_ns;
	hole.count = 0;
	err = err ? err : partial_apply_now(p, &hole.head);
	return err || body_to_ns >= p->to_ns ? err : vec_push(&p->unsure, anybody);
}

int partial_ends(struct partial *p)
{
	u64 from, to;
	int err;

	uneven_cut_body(p, &from, &to);
	if (!p->uneven || to >= p->to_ns)
		return 0;
	err = uneven_cut_apply_tail(p, to);
	p->complete_ns = p->to_ns;
	return err;
}

/*
 * Whether `right` has nothing of the end of `left`, which is complete up to to_ns: recording began
 * anew, or what is missing was lost, and `right` did not wait for it.
 */
static bool is_missing_for_good(const struct partial *right, u64 from_ns, u64 to_ns)
{
	const struct record_gap *gap = right->gaps.count ? &right->gaps.data[0] : NULL;

	if (gap && (gap->head.time_ns <= from_ns || gap->begin_ns <= to_ns))
		return true;
	return right->late_ns > to_ns;
}

int uneven_cuts_merge(struct partial *left, struct partial *right)
{
	u64 left_from, left_to, right_from, right_to, to, complete;
	int err = 0;

	if (is_empty(left))
		partial_late(left, right->late_ns, right->begin_ns);
	if (!left->uneven && !right->uneven)
		return right->from_ns ? holes_end(left, left->to_ns) : 0;
	raws_sort(&left->raw);
	raws_sort(&right->raw);
	uneven_cut_body(right, &right_from, &right_to);
	uneven_cut_body(left, &left_from, &left_to);
	if (is_missing_for_good(right, right_from, left_to)) {
		err = partial_ends(left);
		uneven_cut_body(left, &left_from, &left_to);
	}
	/* one without a body may say that something is missing for which the left did not wait */
	complete = right_from >= right_to && right_to < left_to ? left_to : right_to;
	if (left_to < left_from)
		left_to = left_from; /* what lies before has another neighbour */
	if (!err && !is_empty(left))
		err = holes_before(left, right, left_to);
	err = err ? err : raws_merge(left, right);
	if (!err && !is_empty(left)) /* the body did not wait for it */
		err = uneven_cut_apply_outside(left, left_from, left_to, left_to);
	if (err || is_empty(right))
		return err;
	if (is_empty(left)) {
		partial_streams(left, right_from, right_to);
		return 0;
	}
	partial_streams(left, left_from, complete);
	/* a side without a body of its own is whole where the other one is, too */
	to = right_from < right_to ? right_from : right_to;
	if (right_from >= right_to && left_from >= to) {
		right->holes.count = 0;
		return 0; /* nor is there one now: what is told at its time is another's, too */
	}
	err = uneven_cut_apply(left, left_to, to);
	if (err || right_from < right_to)
		return err ? err : holes_end(left, right_from);
	right->holes.count = 0; /* it goes on where the left one is */
	return 0;
}

void uneven_cuts_sort(struct partial *p)
{
	raws_sort(&p->raw);
}

void uneven_cuts_free(struct partial *p)
{
	for (size_t i = 0; i < p->raw.list.count; i++)
		free(p->raw.list.data[i].record);
	vec_free(&p->raw.list);
}
