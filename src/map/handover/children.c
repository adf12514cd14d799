/* SPDX-License-Identifier: Apache-2.0 */
/* The longest kernel spans under each application span. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/handover/internal.h"

struct handed *handed_get(struct handover *h, const struct context *ctx)
{
	struct handed *entry = bytes_map_get(&h->table, ctx, sizeof(*ctx));

	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (entry && bytes_map_put(&h->table, ctx, sizeof(*ctx), entry)) {
		free(entry);
		return NULL;
	}
	return entry;
}

void handed_remove(struct handover *h, const struct context *ctx)
{
	struct handed *entry = bytes_map_remove(&h->table, ctx, sizeof(*ctx));

	if (!entry)
		return;
	h->counts.children_now -= entry->children.count;
	vec_free(&entry->children);
	free(entry);
}

/* The longest first; the rest makes the order independent of how they came. */
static int child_compare(const void *a, const void *b)
{
	const struct kspan *x = a, *y = b;

	COMPARE(y->end_ns - y->begin_ns, x->end_ns - x->begin_ns);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->tid, y->tid);
	COMPARE(x->kind, y->kind);
	COMPARE(x->nr, y->nr);
	COMPARE(x->args[0], y->args[0]);
	COMPARE(x->args[1], y->args[1]);
	return 0;
}

static void children_swap(struct kspan *a, struct kspan *b)
{
	struct kspan was = *a;

	*a = *b;
	*b = was;
}

static void heap_rise(struct kspan *heap, size_t at)
{
	for (; at && child_compare(&heap[at], &heap[(at - 1) / 2]) > 0; at = (at - 1) / 2)
		children_swap(&heap[at], &heap[(at - 1) / 2]);
}

static void heap_sink(struct kspan *heap, size_t count)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < count && child_compare(&heap[child + 1], &heap[child]) > 0)
			child++;
		if (child >= count || child_compare(&heap[child], &heap[at]) <= 0)
			return;
		children_swap(&heap[child], &heap[at]);
		at = child;
	}
}

/* Keeps it if there is room, or in the place of the shortest one. 0 or -ENOMEM. */
static int child_add(struct handover *h, struct handed *entry, const struct kspan *k)
{
	int err;

	entry->children_seen++;
	entry->children_ns += k->end_ns - k->begin_ns;
	if (entry->children.count < h->options.children_max &&
	    h->counts.children_now < h->options.children_total_max) {
		err = vec_push(&entry->children, *k);
		if (err)
			return err;
		h->counts.children_now++;
		heap_rise(entry->children.data, entry->children.count - 1);
	} else if (entry->children.count && child_compare(k, &entry->children.data[0]) < 0) {
		entry->children.data[0] = *k;
		heap_sink(entry->children.data, entry->children.count);
	}
	return 0;
}

int handover_children_take(struct handover *h)
{
	struct kspans *spans = &h->running->kspans;
	int err = 0;

	for (size_t i = 0; i < kspans_count(spans) && !err; i++) {
		struct handed *entry;
		struct kspan k;

		kspans_get(spans, i, &k);
		if (context_is_none(&k.ctx))
			continue;
		if (h->gone.count && map_get(&h->gone, context_hash(&k.ctx))) {
			h->counts.late++;
			continue;
		}
		entry = handed_get(h, &k.ctx);
		err = entry ? child_add(h, entry, &k) : -ENOMEM;
	}
	kspans_free(spans);
	memset(spans, 0, sizeof(*spans));
	return err;
}

int handed_children_sort(const struct handed *entry, struct kspan_list *out)
{
	out->count = 0;
	if (!entry || !entry->children.count)
		return 0;
	if (vec_reserve(out, entry->children.count))
		return -ENOMEM;
	out->count = entry->children.count;
	memcpy(out->data, entry->children.data, out->count * sizeof(*out->data));
	qsort(out->data, out->count, sizeof(*out->data), child_compare);
	return 0;
}
