/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One form for the list of losses, of which the order and the pieces depend on how partials were
 * merged. Lives say by numbers of the list which losses they know of. Between two such numbers
 * all losses are told together, so of each CPU those that lap over or touch are one there, and
 * their order means nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "map/losses.h"
#include "map/partial.h"

struct marks { /* a VEC, sorted */
	u32 *data;
	size_t count, capacity;
};

static int mark_compare(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The numbers that lives name. */
static int marks_find(const struct partial *p, struct marks *marks)
{
	size_t kept = 0;
	int err = vec_push(marks, 0) ? -ENOMEM : vec_push(marks, p->losses_told);

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		err = vec_push(marks, p->lives.data[i]->losses_before);
		err = err ? err : vec_push(marks, p->lives.data[i]->losses_seen);
	}
	err = err ? err : vec_push(marks, (u32)p->losses.count);
	if (err)
		return err;
	qsort(marks->data, marks->count, sizeof(*marks->data), mark_compare);
	for (size_t i = 1; i < marks->count; i++)
		if (marks->data[i] != marks->data[kept])
			marks->data[++kept] = marks->data[i];
	marks->count = kept + 1;
	return 0;
}

static int loss_compare(const void *a, const void *b)
{
	const struct record_lost *x = a, *y = b;

	COMPARE(x->head.cpu, y->head.cpu);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->head.time_ns, y->head.time_ns);
	return 0;
}

/* Puts the losses [from, to) at `kept`, as few as they can be; returns where they end. */
static size_t losses_join(struct partial *p, size_t from, size_t to, size_t kept)
{
	struct record_lost *list = p->losses.data;
	size_t first = kept;

	qsort(list + from, to - from, sizeof(*list), loss_compare);
	for (size_t i = from; i < to; i++) {
		struct record_lost *last = kept > first ? &list[kept - 1] : NULL;
		struct record_lost loss = {.head = {.kind = RECORD_lost,
						    .cpu = list[i].head.cpu,
						    .time_ns = list[i].head.time_ns},
					   .begin_ns = list[i].begin_ns};

		if (!last || last->head.cpu != loss.head.cpu || loss.begin_ns > last->head.time_ns)
			list[kept++] = loss;
		else if (loss.head.time_ns > last->head.time_ns)
			last->head.time_ns = loss.head.time_ns;
	}
	return kept;
}

/* The new end of the losses that ended at the mark `old`. */
static u32 mark_of(const struct marks *old, const struct marks *now, u32 mark)
{
	size_t n = COUNT_BEFORE(old, m, *m < mark);

	return now->data[n];
}

static void lives_number(struct partial *p, const struct marks *old, const struct marks *now)
{
	for (size_t i = 0; i < p->lives.count; i++) {
		struct life *l = p->lives.data[i];

		l->losses_before = mark_of(old, now, l->losses_before);
		l->losses_seen = mark_of(old, now, l->losses_seen);
	}
	p->losses_told = mark_of(old, now, p->losses_told);
}

int losses_order(struct partial *p)
{
	struct marks old = {0}, now = {0};
	size_t kept = 0;
	int err = p->losses.count ? marks_find(p, &old) : 0;

	err = err ? err : vec_reserve(&now, old.count);
	for (size_t i = 0; i < old.count && !err; i++) {
		if (i)
			kept = losses_join(p, old.data[i - 1], old.data[i], kept);
		now.data[now.count++] = (u32)kept;
	}
	if (now.count) {
		lives_number(p, &old, &now);
		p->losses.count = kept;
		loss_index_free(&p->loss_index);
	}
	vec_free(&old);
	vec_free(&now);
	return err;
}
