/* SPDX-License-Identifier: Apache-2.0 */
#include "cut_losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARE(a, b)                                                                              \
	if ((a) != (b))                                                                            \
	return (a) < (b) ? -1 : 1

static bool begins_loss(const struct record_head *r)
{
	return ((const struct record_lost *)r)->count == LOST_BEGINS;
}

/* A begin and its end agree in these. */
static int same_compare(const struct record_lost *a, const struct record_lost *b)
{
	COMPARE(a->begin_ns, b->begin_ns);
	COMPARE(a->head.cpu, b->head.cpu);
	COMPARE(a->why, b->why);
	COMPARE(a->lost_kind, b->lost_kind);
	return 0;
}

static int begin_compare(const void *a, const void *b)
{
	const struct cut_loss *x = a, *y = b;
	int order = same_compare(x->begin, y->begin);

	if (order)
		return order;
	COMPARE(x->from, y->from);
	return 0;
}

static int from_compare(const void *a, const void *b)
{
	const struct cut_loss *x = a, *y = b;

	COMPARE(x->from, y->from);
	return 0;
}

/* The first begin of those that agree with this end and have none yet. */
static struct cut_loss *loss_of(const struct cut_losses *losses, const struct record_lost *end)
{
	size_t low = 0, high = losses->list.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (same_compare(losses->list.data[middle].begin, end) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < losses->list.count; low++) {
		struct cut_loss *loss = &losses->list.data[low];

		if (same_compare(loss->begin, end))
			break;
		if (!loss->end)
			return loss;
	}
	return NULL;
}

static void sort(struct cut_losses *losses, int (*compare)(const void *, const void *))
{
	if (losses->list.count)
		qsort(losses->list.data, losses->list.count, sizeof(*losses->list.data), compare);
}

void cut_losses_find(struct cut_losses *losses, const struct simulation *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->records.count; i++) {
		const struct record_head *r = simulation_record(s, i);

		if (r->kind == RECORD_lost && begins_loss(r))
			must(vec_push(&losses->list,
				      ((struct cut_loss){.begin = (const void *)r, .from = i})));
	}
	sort(losses, begin_compare);
	for (size_t i = 0; i < s->records.count; i++) {
		const struct record_head *r = simulation_record(s, i);
		struct cut_loss *loss;

		if (r->kind != RECORD_lost || begins_loss(r))
			continue;
		loss = loss_of(losses, (const void *)r);
		if (!loss)
			continue;
		loss->end = (const void *)r;
		loss->to = i;
	}
	for (size_t i = 0; i < losses->list.count; i++)
		if (losses->list.data[i].end)
			losses->list.data[kept++] = losses->list.data[i];
	losses->list.count = kept;
	sort(losses, from_compare);
}

void cut_loss_apply(struct partial *p, const struct record_lost *whole, u64 now_ns, bool begins)
{
	struct record_lost lost = *whole;

	lost.head.time_ns = now_ns;
	lost.count = begins ? LOST_BEGINS : 0;
	must(partial_apply(p, &lost.head));
}

void cut_losses_tell(const struct cut_losses *losses, struct partial *p, size_t at, u64 now_ns,
		     bool begins)
{
	for (size_t i = 0; i < losses->list.count; i++) {
		const struct cut_loss *loss = &losses->list.data[i];

		if (loss->from < at && loss->to >= at)
			cut_loss_apply(p, loss->begin, now_ns, begins);
	}
}
