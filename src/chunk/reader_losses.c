/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the begins of losses. A `lost` record is at the end of a loss, after the records of that
 * time in its own stream and in others. But a caller that applies records in order of time must
 * know of a loss when it begins. So a chunk with losses is read twice.
 */
#include <errno.h>
#include <stdlib.h>

#include "chunk/reader.h"

static bool may_have_losses(const struct chunk_reader *r)
{
	const struct chunk_lost *lost = &r->info.lost;

	return r->count_losses || lost->buffer || lost->recursion || lost->damaged ||
	       lost->uncounted;
}

/*
 * The maximum of begins that are delivered one by one. All further ones are joined into one loss of
 * any CPU that ends with the chunk. No stream has such a record.
 */
#define BEGINS_MAX ((size_t)1 << 20)

static void begin_join(struct chunk_reader *r, const struct record_lost *begin)
{
	struct record_lost *last = &r->begins.data[BEGINS_MAX - 1];
	uint64_t time_ns = last->head.time_ns, from_ns = last->begin_ns;

	if (begin->head.time_ns < time_ns)
		time_ns = begin->head.time_ns;
	if (begin->begin_ns < from_ns)
		from_ns = begin->begin_ns;
	*last = (struct record_lost){
		.head = {.kind = RECORD_lost, .slots = 1, .cpu = PACKET_NO_CPU, .time_ns = time_ns},
		.why = LOST_damaged,
		.count = LOST_BEGINS,
		.begin_ns = from_ns,
	};
}

/* Records that applications lost for lack of room in their own rings leave no time in doubt. */
static int begin_add(struct chunk_reader *r, const struct record_lost *lost)
{
	struct record_lost begin = *lost;

	if (begin.head.time_ns > lost->begin_ns)
		begin.head.time_ns = lost->begin_ns;
	if (begin.head.time_ns < r->info.begin_ns)
		begin.head.time_ns = r->info.begin_ns;
	begin.count = LOST_BEGINS;
	if (lost->why == LOST_application || begin.head.time_ns >= lost->head.time_ns)
		return 0;
	if (r->begins.count < BEGINS_MAX)
		return vec_push(&r->begins, begin);
	begin_join(r, &begin);
	return 0;
}

static int stream_scan(struct chunk_reader *r, const struct stream *of,
		       struct stream_budget *budget)
{
	const uint8_t *identity = of->has_identity ? of->identity : NULL;
	struct stream s;
	int err = stream_init(&s, r->dir, of->name, identity, of->growing), got = 1;

	if (err)
		return err;
	s.budget = budget;
	while (!err && (got = stream_peek(&s)) > 0)
		if (stream_take(&s) && s.unpacker.record.head.kind == RECORD_lost)
			err = begin_add(r, &s.unpacker.record.lost_);
	stream_free(&s);
	return err ? err : got;
}

static int begin_compare(const void *a, const void *b)
{
	const struct record_lost *x = a, *y = b;

	if (x->head.time_ns != y->head.time_ns)
		return x->head.time_ns < y->head.time_ns ? -1 : 1;
	if (x->head.cpu != y->head.cpu)
		return x->head.cpu < y->head.cpu ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->lost_kind < y->lost_kind ? -1 : x->lost_kind > y->lost_kind;
}

int chunk_reader_find_losses(struct chunk_reader *r)
{
	struct stream_budget budget = {.vouched = r->budget.vouched};
	int err = 0;

	if (!may_have_losses(r))
		return 0;
	for (size_t i = 0; i < r->count && !err; i++)
		err = stream_scan(r, &r->streams[i].stream, &budget);
	if (!err && r->begins.count)
		qsort(r->begins.data, r->begins.count, sizeof(*r->begins.data), begin_compare);
	return err;
}
