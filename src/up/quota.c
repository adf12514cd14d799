/* SPDX-License-Identifier: Apache-2.0 */
#include "up/quota.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/order.h"
#include "base/vec.h"

#define SECOND_NS UINT64_C(1000000000)

struct kind {
	uint64_t spans;
	uint32_t times; /* of so many requests one is stored */
	uint32_t seen;	/* since one was drawn */
	uint32_t drawn; /* which one of them */
};

struct kinds {
	struct map numbers; /* kind -> number in the list + 1 */
	VEC(struct kind) list;
	VEC(struct kind *) by_spans;
};

static void room_fill(struct quota *q, uint64_t now_ns)
{
	uint64_t passed_ns = QUOTA_SAVED_NS;

	if (q->filled_ns && now_ns - q->filled_ns < QUOTA_SAVED_NS)
		passed_ns = now_ns - q->filled_ns;
	q->room_ns += (int64_t)passed_ns;
	if (q->room_ns > (int64_t)QUOTA_SAVED_NS)
		q->room_ns = (int64_t)QUOTA_SAVED_NS;
	q->filled_ns = now_ns;
}

/* The kind of a request, which is in the list. */
static struct kind *kind_of(const struct kinds *k, const struct quota_request *r)
{
	return &k->list.data[(uintptr_t)map_get(&k->numbers, r->kind) - 1];
}

static int kinds_count(struct kinds *k, const struct quota_request *list, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (!map_get(&k->numbers, list[i].kind)) {
			err = vec_push(&k->list, (struct kind){.times = 1});
			err = err ? err
				  : map_put(&k->numbers, list[i].kind,
					    (void *)(uintptr_t)k->list.count);
		}
		if (!err)
			kind_of(k, &list[i])->spans += list[i].spans;
	}
	for (size_t i = 0; i < k->list.count && !err; i++)
		err = vec_push(&k->by_spans, &k->list.data[i]);
	return err;
}

static int spans_compare(const void *a, const void *b)
{
	const struct kind *const *x = a, *const *y = b;

	COMPARE((*x)->spans, (*y)->spans);
	COMPARE(*x, *y);
	return 0;
}

/* Gives each kind an equal part of the room, and what it does not need to the others. */
static void kinds_share(struct kinds *k, uint64_t room)
{
	size_t count = k->by_spans.count;

	qsort(k->by_spans.data, count, sizeof(*k->by_spans.data), spans_compare);
	for (size_t i = 0; i < count; i++) {
		struct kind *kind = k->by_spans.data[i];
		uint64_t part = room / (count - i), times = QUOTA_TIMES_MOST;

		if (part)
			times = (kind->spans + part - 1) / part;
		kind->times = times < QUOTA_TIMES_MOST ? (uint32_t)times : QUOTA_TIMES_MOST;
		room -= kind->spans / kind->times < room ? kind->spans / kind->times : room;
	}
}

/* Whether it is the one that is drawn of those around it. */
static bool is_drawn(struct quota *q, struct kind *kind)
{
	uint32_t number = kind->seen;

	if (!number)
		kind->drawn = (uint32_t)(hash_pair(q->draws++, kind->spans) % kind->times);
	kind->seen = (number + 1) % kind->times;
	return number == kind->drawn;
}

static void requests_draw(struct quota *q, const struct kinds *k, struct quota_request *list,
			  size_t count)
{
	uint64_t cost_ns = SECOND_NS / q->rate;

	for (size_t i = 0; i < count; i++) {
		struct kind *kind = kind_of(k, &list[i]);

		list[i].times = is_drawn(q, kind) ? kind->times : 0;
		if (list[i].times)
			q->room_ns -= (int64_t)(list[i].spans * cost_ns);
	}
}

int quota_choose(struct quota *q, struct quota_request *list, size_t count, uint64_t now_ns)
{
	struct kinds k = {0};
	int err;

	for (size_t i = 0; i < count; i++)
		list[i].times = 1;
	if (!q->rate)
		return 0;
	room_fill(q, now_ns);
	err = kinds_count(&k, list, count);
	if (!err) {
		kinds_share(&k, q->room_ns > 0 ? (uint64_t)q->room_ns / (SECOND_NS / q->rate) : 0);
		requests_draw(q, &k, list, count);
	}
	map_free(&k.numbers);
	vec_free(&k.list);
	vec_free(&k.by_spans);
	return err;
}

uint32_t quota_stands_for(const struct quota_request *chosen, uint32_t turns, uint64_t seen_ns,
			  uint64_t came_ns)
{
	uint64_t times = (uint64_t)chosen->times * (turns ? turns : 1);

	if (came_ns > seen_ns && came_ns / QUOTA_UNSEEN_MOST >= seen_ns)
		times *= QUOTA_UNSEEN_MOST;
	else if (came_ns > seen_ns)
		times = (times * came_ns + seen_ns / 2) / seen_ns;
	return times > 1 ? (uint32_t)times : 0;
}
