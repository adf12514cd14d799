/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/states.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/gather.h"

#define WAIT "wait"
#define ATTRIBUTES (4 + SPLIT_PARTS_COUNT)
#define KEY_BYTES 40 /* of "fathom.time.off_thread_ns" */

/* ---- joining ---- */

static uint64_t piece_of(const struct states *s, const struct state *one)
{
	return one->begin_ns / s->width_ns;
}

static bool is_same(const struct states *s, const struct state *a, const struct state *b)
{
	return a->tid == b->tid && a->resource == b->resource && a->kind == b->kind &&
	       piece_of(s, a) == piece_of(s, b);
}

/* The place of the state with which one is joined, from 1; 0: there is none. `key`: a free one. */
static uintptr_t place_of(const struct states *s, const struct state *one, uint64_t *key)
{
	uint64_t hash = hash_u64((uint64_t)one->tid ^ hash_u64((uintptr_t)one->resource));

	hash = hash_u64(piece_of(s, one) ^ hash_u64((uintptr_t)one->kind ^ hash));
	for (*key = hash;; ++*key) {
		uintptr_t place = (uintptr_t)map_get(&s->places, *key);

		if (!place || is_same(s, &s->list.data[place - 1], one))
			return place;
	}
}

/* Whether one span comes before another as the longest: the order of coming does not matter. */
static bool is_longer(const struct state *a, const struct state *b)
{
	if (a->longest_ns != b->longest_ns)
		return a->longest_ns > b->longest_ns;
	return a->span_id < b->span_id;
}

static void state_join(struct state *to, const struct state *one)
{
	bool longer = is_longer(one, to);
	struct state sum = longer ? *one : *to;

	sum.begin_ns = one->begin_ns < to->begin_ns ? one->begin_ns : to->begin_ns;
	sum.end_ns = one->end_ns > to->end_ns ? one->end_ns : to->end_ns;
	sum.total_ns = one->total_ns + to->total_ns;
	sum.count = one->count + to->count;
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++)
		sum.time.ns[part] = split_sum(one->time.ns[part], to->time.ns[part]);
	*to = sum;
}

static int state_take(struct states *s, const struct state *one)
{
	uint64_t key;
	uintptr_t place = place_of(s, one, &key);
	int err;

	if (place) {
		state_join(&s->list.data[place - 1], one);
		return 0;
	}
	err = vec_push(&s->list, *one);
	return err ? err : map_put(&s->places, key, (void *)(uintptr_t)s->list.count);
}

/* Makes pieces twice as wide: two of them are one then. */
static int states_widen(struct states *s)
{
	struct states wider = {.width_ns = 2 * s->width_ns};
	int err = 0;

	for (size_t i = 0; i < s->list.count && !err; i++)
		err = state_take(&wider, &s->list.data[i]);
	VEC_SWAP(s->list.data, wider.list.data);
	VEC_SWAP(s->list.capacity, wider.list.capacity);
	VEC_SWAP(s->list.count, wider.list.count);
	VEC_SWAP(s->places, wider.places);
	s->width_ns = wider.width_ns;
	vec_free(&wider.list);
	map_free(&wider.places);
	return err;
}

/* ---- kernel spans ---- */

/* The copy of a text, which is the same one for the same text; NULL: out of memory. */
static const char *text_of(struct states *s, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = bytes_map_get(&s->texts, text, bytes);

	if (copy)
		return copy;
	copy = pool_alloc(s->pool, bytes, 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	return bytes_map_put(&s->texts, text, bytes, copy) ? NULL : copy;
}

/* A wait that tells no split is the part after which it is called. */
static void time_of(const struct received_span *span, const char *kind, struct split *time)
{
	int part;

	if (gather_split(span, time) || strcmp(kind, WAIT) != 0)
		return;
	part = gather_part(span->name);
	if (part >= 0)
		time->ns[part] = (int64_t)received_duration_ns(span);
}

int states_add(struct states *s, const struct received_span *span)
{
	const char *kind = gather_kernel_kind(span);
	struct state one = {.resource = span->resource,
			    .tid = gather_thread(span),
			    .begin_ns = span->begin_ns,
			    .end_ns = span->begin_ns + received_duration_ns(span),
			    .total_ns = received_duration_ns(span),
			    .count = 1,
			    .scope = span->scope,
			    .trace = span->trace,
			    .span_id = span->span_id,
			    .parent_id = span->parent_id,
			    .longest_ns = received_duration_ns(span)};

	if (!kind || one.tid <= 0)
		return 0;
	time_of(span, kind, &one.time);
	one.kind = text_of(s, kind);
	one.name = text_of(s, span->name);
	if (!one.kind || !one.name)
		return -ENOMEM;
	if (s->most && s->list.count >= 2 * s->most && states_widen(s))
		return -ENOMEM;
	return state_take(s, &one);
}

/* Joins those of the batch that are shorter than a piece. */
static int batch_join(struct states *s, struct received_batch *batch)
{
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < batch->count; i++) {
		const struct received_span *span = &batch->data[i];

		if (err || !gather_kernel_kind(span) || received_duration_ns(span) >= s->width_ns)
			batch->data[left++] = *span;
		else
			err = states_add(s, span);
	}
	batch->count = left;
	return err;
}

static size_t kernel_count(const struct received_batch *batch)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->count; i++)
		count += gather_kernel_kind(&batch->data[i]) != NULL;
	return count;
}

static bool are_too_many(const struct states *s, const struct received_batch *batch)
{
	return s->list.count + kernel_count(batch) > s->most;
}

int states_fit(struct states *s, struct received_batch *batch, uint64_t width_ns, uint64_t range_ns)
{
	uint64_t joined_ns = 0; /* the width of pieces for which those of the batch are joined */
	int err = 0;

	while (!err &&
	       (s->width_ns != joined_ns || (s->width_ns < range_ns && are_too_many(s, batch)))) {
		if (!s->width_ns)
			s->width_ns = width_ns ? width_ns : 1;
		else if (s->width_ns == joined_ns)
			err = states_widen(s);
		joined_ns = s->width_ns;
		err = err ? err : batch_join(s, batch);
	}
	return err;
}

/* ---- what they are in an answer ---- */

static void text_put(struct attribute *to, const char *key, const char *text)
{
	*to = (struct attribute){.key = key, .type = VALUE_STRING, .string = text};
}

static void number_put(struct attribute *to, const char *key, int64_t number)
{
	*to = (struct attribute){.key = key, .type = VALUE_INTEGER, .integer = number};
}

/* The key of a part of the split; NULL: out of memory. */
static const char *part_key(struct states *s, unsigned int part)
{
	char key[KEY_BYTES];

	snprintf(key, sizeof(key), "fathom.time.%s_ns", split_part_name(part));
	return text_of(s, key);
}

static int attributes_put(struct states *s, const struct state *one, struct received_list *to)
{
	struct attribute *list = pool_alloc(s->pool, ATTRIBUTES, sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	text_put(&list[count++], "fathom.kind", one->kind);
	number_put(&list[count++], "thread.id", one->tid);
	number_put(&list[count++], STATES_JOINED, (int64_t)one->count);
	number_put(&list[count++], STATES_JOINED_NS, (int64_t)one->total_ns);
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++) {
		const char *key = one->time.ns[part] ? part_key(s, part) : "";

		if (!key)
			return -ENOMEM;
		if (*key)
			number_put(&list[count++], key, one->time.ns[part]);
	}
	*to = (struct received_list){.data = list, .count = count};
	return 0;
}

static const char *name_of(const struct state *one)
{
	unsigned int most = 0;

	for (unsigned int part = 1; part < SPLIT_PARTS_COUNT; part++) {
		if (one->time.ns[part] > one->time.ns[most])
			most = part;
	}
	return strcmp(one->kind, WAIT) == 0 && one->time.ns[most] > 0 ? split_part_name(most)
								      : one->name;
}

static int begin_compare(const void *a, const void *b)
{
	const struct state *x = a, *y = b;
	int order = (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);

	return order ? order : (x->span_id > y->span_id) - (x->span_id < y->span_id);
}

int states_put(struct states *s, struct received_batch *batch)
{
	int err = vec_reserve(batch, s->list.count);

	if (s->list.count)
		qsort(s->list.data, s->list.count, sizeof(*s->list.data), begin_compare);
	for (size_t i = 0; i < s->list.count && !err; i++) {
		const struct state *one = &s->list.data[i];
		struct received_span span = {.trace = one->trace,
					     .span_id = one->span_id,
					     .parent_id = one->parent_id,
					     .begin_ns = one->begin_ns,
					     .end_ns = one->end_ns,
					     .name = name_of(one),
					     .trace_state = "",
					     .status_text = "",
					     .kind = RECEIVED_INTERNAL,
					     .resource = one->resource,
					     .scope = one->scope};

		err = attributes_put(s, one, &span.attributes);
		if (!err)
			batch->data[batch->count++] = span;
	}
	return err;
}

void states_clear(struct states *s)
{
	s->list.count = 0;
	map_free(&s->places);
}

void states_free(struct states *s)
{
	vec_free(&s->list);
	map_free(&s->places);
	bytes_map_free(&s->texts);
}
