/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts that are no instants: each stream of a chunk begins and ends at a time
 * of its own.
 *
 * Between the first and the last of these times one neighbour has some of the
 * records and the other the rest, and no thread's life can be told from
 * either. So a partial applies what lies in its body, [begun_ns, complete_ns),
 * where no stream is missing, and carries the records outside as they are. As
 * neighbours merge, so do these: between the left body's end and the right
 * one's begin all streams are there again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/internal.h"
#include "record/describe.h"

#define RAW_WHOLE_BYTES 256

void partial_streams(struct partial *p, u64 begun_ns, u64 complete_ns)
{
	p->zoned = true;
	p->begun_ns = begun_ns;
	p->complete_ns = complete_ns;
}

/* The order in which a reader of all streams delivers records. */
static bool raw_before(const struct raw_record *a, const struct raw_record *b)
{
	const struct record_head *x = a->record, *y = b->record;

	return x->time_ns != y->time_ns ? x->time_ns < y->time_ns : x->cpu < y->cpu;
}

/* A whole record: behind what was published it reads as zero. */
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
	return 0;
}

int raw_read(struct raw_record *raw, const char *data)
{
	const struct record_head *r = (const void *)data;
	const struct record_kind_info *info = raw->bytes >= sizeof(*r) ? record_kind_info(r->kind)
								       : NULL;

	raw->record = NULL;
	if (!info || raw->bytes < info->fixed_size || record_bytes(r) != raw->bytes)
		return -EBADMSG;
	return raw_copy(r, raw);
}

int zone_keep(struct partial *p, const struct record_head *r)
{
	struct raw_record raw;
	size_t at;
	int err = record_kind_info(r->kind) ? raw_copy(r, &raw) : 0;

	if (err || !record_kind_info(r->kind))
		return err;
	err = vec_push(&p->raw.list, raw);
	if (err) {
		free(raw.record);
		return err;
	}
	for (at = p->raw.list.count - 1; at > 0 && raw_before(&raw, &p->raw.list.data[at - 1]);
	     at--)
		p->raw.list.data[at] = p->raw.list.data[at - 1];
	p->raw.list.data[at] = raw;
	return 0;
}

/* Applies what is kept of [from_ns, to_ns), and keeps it no longer. */
static int zone_apply(struct partial *p, u64 from_ns, u64 to_ns)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < p->raw.list.count; i++) {
		struct raw_record *raw = &p->raw.list.data[i];

		if (err || raw->record->time_ns < from_ns || raw->record->time_ns >= to_ns) {
			p->raw.list.data[kept++] = *raw;
			continue;
		}
		err = partial_apply_now(p, raw->record);
		free(raw->record);
	}
	p->raw.list.count = kept;
	return err;
}

/* What is kept of both, in order. */
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

/* Where all of its streams are there; without zones that is all of it. */
static void body_of(const struct partial *p, u64 *from_ns, u64 *to_ns)
{
	*from_ns = p->zoned ? p->begun_ns : p->from_ns;
	*to_ns = p->zoned ? p->complete_ns : p->to_ns;
}

static bool is_empty(const struct partial *p)
{
	return !p->zoned && !p->from_ns && !p->to_ns;
}

int zones_merge(struct partial *left, struct partial *right)
{
	u64 left_from, left_to, right_from, right_to;
	int err;

	if (!left->zoned && !right->zoned)
		return 0;
	body_of(right, &right_from, &right_to);
	body_of(left, &left_from, &left_to);
	err = raws_merge(left, right);
	if (err || is_empty(right))
		return err;
	if (is_empty(left)) {
		partial_streams(left, right_from, right_to);
		return 0;
	}
	partial_streams(left, left_from, right_to);
	/* a side without a body of its own is whole where the other one is, too */
	return zone_apply(left, left_from < left_to ? left_to : left_from,
			  right_from < right_to ? right_from : right_to);
}

/*
 * Nothing will come from either side: what stands before the body goes first,
 * into a partial of its own, as nothing in the body may depend on the order.
 */
int zones_finish(struct partial *p)
{
	struct raw_records raw = p->raw;
	struct partial *body;
	u64 from, to;
	int err;

	if (!p->zoned || !p->raw.list.count)
		return 0;
	body = malloc(sizeof(*body));
	if (!body)
		return -ENOMEM;
	body_of(p, &from, &to);
	if (from > to)
		from = to;
	*body = *p;
	body->zoned = false;
	body->raw = (struct raw_records){0};
	*p = (struct partial){.options = body->options, .raw = raw};
	err = zone_apply(p, 0, from);
	err = err ? err : partial_merge(p, body);
	return err ? err : zone_apply(p, from, UINT64_MAX);
}

void zones_free(struct partial *p)
{
	for (size_t i = 0; i < p->raw.list.count; i++)
		free(p->raw.list.data[i].record);
	vec_free(&p->raw.list);
}
