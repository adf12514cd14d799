/* SPDX-License-Identifier: Apache-2.0 */
#include "map/kernel/hits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/partial.h"

int hits_count(struct hits *h, u64 key, u64 count)
{
	u64 before = (u64)(uintptr_t)map_get(&h->counts, key);

	return count ? map_put(&h->counts, key, (void *)(uintptr_t)(before + count)) : 0;
}

/* Counts one: in a place of its own while it is the last with its hash. */
static int hit(struct hits *h, u64 key)
{
	size_t at = hash_u64(key) & ((1u << HITS_RECENT_BITS) - 1);
	int err = 0;

	if (h->recent[at].key != key) {
		err = hits_count(h, h->recent[at].key, h->recent[at].count);
		h->recent[at].key = key;
		h->recent[at].count = 0;
	}
	h->recent[at].count++;
	return err;
}

int hits_settle(struct hits *h)
{
	int err = 0;

	for (size_t i = 0; i < 1u << HITS_RECENT_BITS && !err; i++) {
		err = hits_count(h, h->recent[i].key, h->recent[i].count);
		h->recent[i].count = 0;
	}
	return err;
}

/* The hits of a span, made if it is new. NULL if there is no memory. */
static struct span_hits *span_hits_get(struct hits *h, const struct context *ctx)
{
	size_t number;

	if (h->last < h->spans.count && context_equal(&h->spans.data[h->last].ctx, ctx))
		return &h->spans.data[h->last];
	number = (size_t)bytes_map_get(&h->index, ctx, sizeof(*ctx));
	if (!number) {
		if (vec_push(&h->spans, (struct span_hits){.ctx = *ctx}))
			return NULL;
		number = h->spans.count;
		if (bytes_map_put(&h->index, ctx, sizeof(*ctx), (void *)number))
			return NULL;
	}
	h->last = number - 1;
	return &h->spans.data[h->last];
}

static int span_hit(struct hits *h, enum hit_slot slot, const struct context *ctx)
{
	struct span_hits *of;

	if (context_is_none(ctx))
		return 0;
	of = span_hits_get(h, ctx);
	if (!of)
		return -ENOMEM;
	of->counts[slot]++;
	return 0;
}

/* Records of kernel programs, as often as they ran. */
#define BY_PROGRAMS                                                                                \
	(1ull << RECORD_switch | 1ull << RECORD_waking | 1ull << RECORD_syscall |                  \
	 1ull << RECORD_fault | 1ull << RECORD_block | 1ull << RECORD_bytes |                      \
	 1ull << RECORD_event | 1ull << RECORD_uring | 1ull << RECORD_fork | 1ull << RECORD_exec | \
	 1ull << RECORD_exit | 1ull << RECORD_name)

static u32 number_of(const struct record_head *r)
{
	const struct record_waking *waking = (const void *)r;
	const struct record_switch *sw = (const void *)r;

	if (r->kind == RECORD_waking)
		return (waking->context & WAKE_CONTEXT_MASK) == WAKE_task ? waking->waker_tid : 0;
	if (r->kind == RECORD_switch && sw->mode & MODE_PREV_OUT)
		return 0;
	return r->pid;
}

int hits_add(struct partial *p, const struct record_head *r)
{
	int err;

	if (!(BY_PROGRAMS >> r->kind & 1) || p->options.state_only ||
	    !partial_in_range(p, r->time_ns))
		return 0;
	err = hit(&p->hits, hit_key(r->kind, number_of(r)));
	if (err)
		return err;
	switch (r->kind) {
#define H(kind_)                                                                                   \
	case RECORD_##kind_: {                                                                     \
		struct context ctx = ((const struct record_##kind_ *)r)->ctx;                      \
		return span_hit(&p->hits, HIT_##kind_, &ctx);                                      \
	}
		HIT_KINDS(H)
#undef H
	default:
		return 0;
	}
}

int hits_span_add(struct hits *h, const struct span_hits *more)
{
	struct span_hits *of = span_hits_get(h, &more->ctx);

	if (!of)
		return -ENOMEM;
	for (int i = 0; i < HIT_SLOTS; i++)
		of->counts[i] += more->counts[i];
	return 0;
}

int hits_merge(struct hits *left, struct hits *right)
{
	struct map_entry entry;
	size_t at = 0;
	int err = hits_settle(right);

	while (!err && map_next(&right->counts, &at, &entry))
		err = hits_count(left, entry.key, (u64)(uintptr_t)entry.value);
	for (size_t i = 0; i < right->spans.count && !err; i++)
		err = hits_span_add(left, &right->spans.data[i]);
	return err;
}

static int span_hits_compare(const void *a, const void *b)
{
	const struct span_hits *x = a, *y = b;

	return memcmp(&x->ctx, &y->ctx, sizeof(x->ctx));
}

int hits_sort(struct hits *h)
{
	int err = hits_settle(h);

	if (!err && h->spans.count)
		qsort(h->spans.data, h->spans.count, sizeof(*h->spans.data), span_hits_compare);
	bytes_map_free(&h->index);
	return err;
}

const struct span_hits *query_span_hits(const struct partial *p, const struct context *ctx)
{
	struct span_hits like = {.ctx = *ctx};

	if (!p->hits.spans.count)
		return NULL;
	return bsearch(&like, p->hits.spans.data, p->hits.spans.count, sizeof(like),
		       span_hits_compare);
}

void hits_free(struct hits *h)
{
	map_free(&h->counts);
	vec_free(&h->spans);
	bytes_map_free(&h->index);
}
