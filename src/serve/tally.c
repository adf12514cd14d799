/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tally.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/pool.h"
#include "store/told.h"

#define MS 1000000u

const uint64_t tally_bounds_ns[TALLY_BOUNDS] = {
	MS / 10,   MS / 4,	 MS / 2,       1 * MS,	     2 * MS + MS / 2, 5 * MS,
	10 * MS,   25 * MS,	 50 * MS,      100 * MS,     250 * MS,	      500 * MS,
	1000 * MS, 2500ull * MS, 5000ull * MS, 10000ull * MS};

struct series {
	struct tally_operation operation;
	struct tally_sums pending; /* of spans that are not settled */
	struct series *next;	   /* with pending spans */
	bool is_pending;
};

struct tally {
	pthread_mutex_t lock; /* for `list` and the sums of operations */
	VEC(struct series *) list;
	struct bytes_map series; /* by service, name and kind */
	struct series *pending;
	struct bytes key;
	struct pool pool;
};

struct tally *tally_open(void)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (t)
		pthread_mutex_init(&t->lock, NULL);
	return t;
}

void tally_close(struct tally *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	vec_free(&t->list);
	bytes_map_free(&t->series);
	bytes_free(&t->key);
	pool_free(&t->pool);
	free(t);
}

static const char *text_copy(struct tally *t, const char *text)
{
	char *copy = pool_alloc(&t->pool, strlen(text) + 1, 1);

	return copy ? strcpy(copy, text) : NULL;
}

static struct series *series_add(struct tally *t, const char *service, const char *name,
				 uint8_t kind)
{
	struct series *series = pool_alloc(&t->pool, 1, sizeof(*series));
	int err;

	if (!series)
		return NULL;
	series->operation.service = text_copy(t, service);
	series->operation.name = text_copy(t, name);
	series->operation.kind = kind;
	if (!series->operation.service || !series->operation.name)
		return NULL;
	pthread_mutex_lock(&t->lock);
	err = vec_push(&t->list, series);
	pthread_mutex_unlock(&t->lock);
	if (err)
		return NULL;
	if (bytes_map_put(&t->series, t->key.data, t->key.count, series) == 0)
		return series;
	pthread_mutex_lock(&t->lock);
	t->list.count--;
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* NULL: it is new, or there is no memory. Leaves its key. */
static struct series *series_find(struct tally *t, const char *service, const char *name,
				  uint8_t kind)
{
	t->key.count = 0;
	bytes_put(&t->key, service, strlen(service) + 1);
	bytes_put(&t->key, name, strlen(name) + 1);
	bytes_put_u8(&t->key, kind);
	return t->key.failed ? NULL : bytes_map_get(&t->series, t->key.data, t->key.count);
}

/* NULL: no memory. */
static struct series *series_of(struct tally *t, const char *service, const char *name,
				uint8_t kind)
{
	struct series *series = series_find(t, service, name, kind);

	if (series || t->key.failed)
		return series;
	if (t->list.count < TALLY_OPERATIONS_MAX && strlen(service) <= TALLY_NAME_BYTES_MAX &&
	    strlen(name) <= TALLY_NAME_BYTES_MAX)
		return series_add(t, service, name, kind);
	series = series_find(t, TALLY_OTHER, TALLY_OTHER, RECEIVED_UNSPECIFIED);
	if (series || t->key.failed)
		return series;
	return series_add(t, TALLY_OTHER, TALLY_OTHER, RECEIVED_UNSPECIFIED);
}

static void split_add_told(struct tally_sums *sums, const struct told *told, uint64_t times)
{
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++)
		sums->time_ns[part] += (uint64_t)told->time.ns[part] * times;
	sums->splits += told->measured * times;
}

static void span_add(struct tally_sums *sums, const struct received_span *span, uint64_t times)
{
	uint64_t duration_ns = received_duration_ns(span);
	size_t bucket = 0;

	while (bucket < TALLY_BOUNDS && duration_ns > tally_bounds_ns[bucket])
		bucket++;
	sums->spans += times;
	sums->errors += span->status == RECEIVED_ERROR ? times : 0;
	sums->duration_ns += duration_ns * times;
	sums->buckets[bucket] += times;
}

static void tally_appended(void *arg, const struct received_batch *batch, const uint8_t *fates)
{
	struct tally *t = arg;

	for (size_t i = 0; i < batch->count; i++) {
		const struct received_span *span = &batch->data[i];
		struct series *series;
		struct told told;
		uint64_t times;

		/* counters do not shrink: only the split, which came later, is new */
		if (fates[i] != STORE_ADDED && fates[i] != STORE_FOLLOWS &&
		    fates[i] != STORE_CONTEXT)
			continue;
		/* of a span that was received before, if map knows its name */
		series = fates[i] == STORE_CONTEXT
				 ? series_find(t, span->resource->service, span->name, span->kind)
				 : series_of(t, span->resource->service, span->name, span->kind);
		if (!series)
			continue;
		told = told_of(span);
		times = told.stands_for ? told.stands_for : 1;
		if (fates[i] == STORE_ADDED)
			span_add(&series->pending, span, times);
		split_add_told(&series->pending, &told, times);
		if (series->is_pending)
			continue;
		series->is_pending = true;
		series->next = t->pending;
		t->pending = series;
	}
}

static void sums_add(struct tally_sums *sums, const struct tally_sums *more)
{
	sums->spans += more->spans;
	sums->errors += more->errors;
	sums->duration_ns += more->duration_ns;
	sums->splits += more->splits;
	for (size_t i = 0; i <= TALLY_BOUNDS; i++)
		sums->buckets[i] += more->buckets[i];
	for (size_t i = 0; i < SPLIT_PARTS_COUNT; i++)
		sums->time_ns[i] += more->time_ns[i];
}

static void tally_settled(void *arg, bool is_stored)
{
	struct tally *t = arg;

	pthread_mutex_lock(&t->lock);
	for (struct series *series = t->pending; series; series = series->next) {
		if (is_stored)
			sums_add(&series->operation.sums, &series->pending);
		series->pending = (struct tally_sums){0};
		series->is_pending = false;
	}
	t->pending = NULL;
	pthread_mutex_unlock(&t->lock);
}

struct span_watch tally_watch(struct tally *t)
{
	return (struct span_watch){tally_appended, tally_settled, t};
}

static int operation_compare(const void *a, const void *b)
{
	const struct tally_operation *x = a, *y = b;
	int order = strcmp(x->service, y->service);

	order = order ? order : strcmp(x->name, y->name);
	return order ? order : x->kind - y->kind;
}

int tally_read(struct tally *t, tally_list *out)
{
	int err = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->list.count && !err; i++) {
		if (t->list.data[i]->operation.sums.spans)
			err = vec_push(out, t->list.data[i]->operation);
	}
	pthread_mutex_unlock(&t->lock);
	if (!err && out->count)
		qsort(out->data, out->count, sizeof(*out->data), operation_compare);
	return err;
}
