/* SPDX-License-Identifier: Apache-2.0 */
/* What recording cost, and whom. */
#include <errno.h>
#include <string.h>

#include "map/file/internal.h"
#include "map/partial.h"

static void archive_cost(struct archive *a, struct cost_sum *sum)
{
	archive_bytes(a, &sum->of, sizeof(sum->of));
	archive_u64(a, &sum->runs);
	archive_u64(a, &sum->cost_ns);
	if (sum->of.name[COST_NAME_BYTES - 1])
		archive_fail(a, -EBADMSG);
}

static void costs_read(struct archive *a, struct partial *p)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct cost_sum sum = {0};

		archive_cost(a, &sum);
		if (!a->err && costs_sum_add(&p->costs, &sum))
			archive_fail(a, -ENOMEM);
	}
	if (!a->err && p->costs.list.count != count) /* one was there twice */
		archive_fail(a, -EBADMSG);
}

struct hit_count {
	u64 key, count;
};

static void archive_hit(struct archive *a, struct hit_count *hit)
{
	archive_u64(a, &hit->key);
	archive_u64(a, &hit->count);
	if (!hit->count)
		archive_fail(a, -EBADMSG);
}

static void archive_span_hits(struct archive *a, struct span_hits *hits)
{
	archive_context(a, &hits->ctx);
	for (int i = 0; i < HIT_SLOTS; i++)
		archive_u64(a, &hits->counts[i]);
}

static void hits_read(struct archive *a, struct hits *h)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct hit_count hit = {0};

		archive_hit(a, &hit);
		if (!a->err && hits_count(h, hit.key, hit.count))
			archive_fail(a, -ENOMEM);
	}
	count = archive_count(a, 0);
	for (size_t i = 0; i < count && !a->err; i++) {
		struct span_hits hits = {0};

		archive_span_hits(a, &hits);
		if (!a->err && hits_span_add(h, &hits))
			archive_fail(a, -ENOMEM);
	}
	if (!a->err && h->spans.count != count)
		archive_fail(a, -EBADMSG);
}

static void hits_write(struct archive *a, struct hits *h)
{
	VEC(struct hit_count) list = {0};
	struct map_entry entry;
	size_t at = 0;

	if (hits_settle(h))
		archive_fail(a, -ENOMEM);
	while (map_next(&h->counts, &at, &entry))
		if (vec_push(&list, ((struct hit_count){entry.key, (u64)(uintptr_t)entry.value})))
			archive_fail(a, -ENOMEM);
	archive_set(a, &list, archive_hit);
	archive_set(a, &h->spans, archive_span_hits);
	vec_free(&list);
}

void whole_costs(struct archive *a, struct partial *p)
{
	if (archive_reads(a)) {
		costs_read(a, p);
		hits_read(a, &p->hits);
		return;
	}
	archive_set(a, &p->costs.list, archive_cost);
	hits_write(a, &p->hits);
}
