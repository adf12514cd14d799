/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/bytes.h"

#include <errno.h>
#include <stddef.h>

#include "base/order.h"
#include "map/fact/kind.h"

static int bytes_add(struct facts *f, const struct record_head *head)
{
	const struct record_bytes *r = (const void *)head;
	struct fact_bytes *b = thread_facts_add(&f->bytes, sizeof(*b), r->head.tid,
						r->head.time_ns);

	if (!b)
		return -ENOMEM;
	*b = (struct fact_bytes){.time_ns = r->head.time_ns,
				 .from = r->from,
				 .length = r->length,
				 .key = r->file.key,
				 .tid = r->head.tid,
				 .direction = r->direction,
				 .flags = r->flags,
				 .light = r->light,
				 .light_maker = r->light_maker};
	return 0;
}

static int bytes_compare(const void *a, const void *b)
{
	const struct fact_bytes *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->key, y->key);
	COMPARE(x->direction, y->direction);
	COMPARE(x->from, y->from);
	COMPARE(x->length, y->length);
	COMPARE(x->flags, y->flags);
	COMPARE(x->light, y->light);
	COMPARE(x->light_maker, y->light_maker);
	return 0;
}

const struct thread_order bytes_order = {sizeof(struct fact_bytes),
					 offsetof(struct fact_bytes, tid),
					 offsetof(struct fact_bytes, time_ns), bytes_compare};

static void bytes_archive(struct archive *a, void *fact)
{
	struct fact_bytes *f = fact;

	archive_time(a, &f->time_ns);
	archive_u64(a, &f->from);
	archive_u64(a, &f->length);
	archive_u64(a, &f->key);
	archive_u32(a, &f->tid);
	archive_u8(a, &f->direction);
	archive_u8(a, &f->flags);
	archive_u64(a, &f->light);
	archive_u64(a, &f->light_maker);
}

const struct fact_kind fact_kind_bytes = {
	.add = bytes_add, .compare = bytes_compare, .archive = bytes_archive};
