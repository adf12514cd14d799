/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first segment of a thread has room for one fact, and each next one for twice as many: a
 * hostile chunk has as many threads as facts. Two threads that share a place in `open` take it from
 * each other; the other then begins a new segment.
 */
#include "map/fact/thread_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/group_sort.h"
#include "base/order.h"

#define SEGMENT_MOST 128u

static u32 tid_of(const struct thread_order *order, const char *fact)
{
	return *(const u32 *)(const void *)(fact + order->tid_at);
}

static u64 time_of(const struct thread_order *order, const char *fact)
{
	return *(const u64 *)(const void *)(fact + order->time_at);
}

static int segment_add(struct thread_facts *t, size_t size, u32 tid, u32 capacity)
{
	struct thread_segment s = {.tid = tid, .capacity = (u16)capacity};

	s.data = arena_take(&t->arena, size * capacity);
	return s.data && t->segments.count < UINT32_MAX ? vec_push(&t->segments, s) : -ENOMEM;
}

/* The open segment of the thread, with room; NULL if there is no memory. */
static struct thread_segment *segment_of(struct thread_facts *t, size_t size, u32 tid)
{
	u32 *open = &t->open[tid % (1u << THREAD_FACTS_OPEN_BITS)];
	struct thread_segment *s = *open ? &t->segments.data[*open - 1] : NULL;
	u32 capacity = 1;

	if (s && s->tid == tid) {
		if (s->count < s->capacity)
			return s;
		capacity = s->capacity < SEGMENT_MOST ? 2u * s->capacity : SEGMENT_MOST;
	}
	if (segment_add(t, size, tid, capacity))
		return NULL;
	*open = (u32)t->segments.count;
	return &t->segments.data[*open - 1];
}

void *thread_facts_add(struct thread_facts *t, size_t size, u32 tid, u64 time_ns)
{
	struct thread_segment *s = segment_of(t, size, tid);

	if (!s)
		return NULL;
	if (!s->count)
		s->first_ns = time_ns;
	else if (time_ns <= s->last_ns)
		s->unsorted = true;
	s->last_ns = time_ns;
	t->count++;
	return s->data + size * s->count++;
}

void *thread_facts_put(struct thread_facts *t, const struct thread_order *order, const void *fact)
{
	void *to = thread_facts_add(t, order->size, tid_of(order, fact), time_of(order, fact));

	return to ? memcpy(to, fact, order->size) : NULL;
}

int thread_facts_merge(struct thread_facts *left, struct thread_facts *right)
{
	int err = arena_merge(&left->arena, &right->arena);

	err = err ? err : vec_move(&left->segments, &right->segments);
	if (err)
		return err;
	left->count += right->count;
	right->count = 0;
	/* the next facts lie behind those of the right */
	memset(left->open, 0, sizeof(left->open));
	memset(right->open, 0, sizeof(right->open));
	return 0;
}

/* ---- sorting ---- */

static const char *segment_last(const struct thread_segment *s, size_t size)
{
	return s->data + size * (s->count - 1u);
}

static void segment_sort(struct thread_segment *s, const struct thread_order *order)
{
	qsort(s->data, s->count, order->size, order->compare);
	s->first_ns = time_of(order, s->data);
	s->last_ns = time_of(order, segment_last(s, order->size));
	s->unsorted = false;
}

static struct group_key segment_key(const void *element)
{
	return (struct group_key){((const struct thread_segment *)element)->tid, 0};
}

static int segment_compare(const void *a, const void *b)
{
	const struct thread_segment *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->first_ns, y->first_ns);
	COMPARE(x->last_ns, y->last_ns);
	return 0;
}

static const struct group_order segment_order = {sizeof(struct thread_segment), segment_key,
						 segment_compare};

/* Whether no two segments overlap. */
static bool is_in_order(const struct thread_facts *t, const struct thread_order *order)
{
	for (size_t i = 1; i < t->segments.count; i++) {
		const struct thread_segment *x = &t->segments.data[i - 1], *y = x + 1;

		if (x->tid == y->tid && x->last_ns >= y->first_ns &&
		    order->compare(segment_last(x, order->size), y->data) > 0)
			return false;
	}
	return true;
}

/* Segments overlap, as late facts make them: puts all facts together and sorts them. */
static int sort_all(struct thread_facts *t, const struct thread_order *order)
{
	struct thread_facts sorted = {0};
	size_t count = 0;
	char *all = malloc(t->count * order->size);
	int err = all ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->segments.count && !err; i++) {
		const struct thread_segment *s = &t->segments.data[i];

		memcpy(all + order->size * count, s->data, order->size * s->count);
		count += s->count;
	}
	if (!err)
		qsort(all, count, order->size, order->compare);
	for (size_t i = 0; i < count && !err; i++) {
		if (!thread_facts_put(&sorted, order, all + order->size * i))
			err = -ENOMEM;
	}
	free(all);
	if (err) {
		thread_facts_free(&sorted);
		return err;
	}
	thread_facts_free(t);
	*t = sorted;
	return 0;
}

int thread_facts_sort(struct thread_facts *t, const struct thread_order *order)
{
	int err;

	for (size_t i = 0; i < t->segments.count; i++)
		if (t->segments.data[i].unsorted)
			segment_sort(&t->segments.data[i], order);
	err = vec_group_sort(&t->segments, &segment_order);
	if (err)
		return err;
	memset(t->open, 0, sizeof(t->open)); /* they have moved */
	return is_in_order(t, order) ? 0 : sort_all(t, order);
}

void thread_facts_free(struct thread_facts *t)
{
	vec_free(&t->segments);
	arena_free(&t->arena);
	t->count = 0;
	memset(t->open, 0, sizeof(t->open));
}

/* ---- asking ---- */

struct thread_place thread_facts_before(const struct thread_facts *t,
					const struct thread_order *order, u32 tid, u64 time_ns)
{
	size_t n = COUNT_BEFORE(&t->segments, s,
				s->tid < tid || (s->tid == tid && s->first_ns < time_ns));
	const struct thread_segment *s = n ? &t->segments.data[n - 1] : NULL;
	size_t low = 0, high = s ? s->count : 0;

	if (!s)
		return (struct thread_place){0};
	while (low < high && s->tid == tid) {
		size_t middle = low + (high - low) / 2;

		if (time_of(order, s->data + order->size * middle) < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return s->tid == tid ? (struct thread_place){n - 1, low} : (struct thread_place){n, 0};
}

const void *thread_facts_next(const struct thread_facts *t, size_t size, struct thread_place *place)
{
	if (place->segment < t->segments.count &&
	    place->index == t->segments.data[place->segment].count)
		*place = (struct thread_place){place->segment + 1, 0};
	if (place->segment >= t->segments.count)
		return NULL;
	return t->segments.data[place->segment].data + size * place->index++;
}

const void *thread_facts_last(const struct thread_facts *t, size_t size, struct thread_place *place)
{
	if (!place->index) {
		if (!place->segment)
			return NULL;
		place->segment--;
		place->index = t->segments.data[place->segment].count;
	}
	return t->segments.data[place->segment].data + size * --place->index;
}
