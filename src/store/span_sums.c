/* SPDX-License-Identifier: Apache-2.0 */
#include "store/span_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

static const int types[] = {DUCKDB_UBIGINT,  DUCKDB_UBIGINT, DUCKDB_UBIGINT, DUCKDB_UTINYINT,
			    DUCKDB_UTINYINT, DUCKDB_UBIGINT, DUCKDB_UBIGINT, DUCKDB_UBIGINT,
			    DUCKDB_UBIGINT,  DUCKDB_BLOB};
#define COLUMNS (sizeof(types) / sizeof(*types))
static const struct table fresh_table = {"sums_fresh", types, COLUMNS};
static const struct table minutes_table = {"sums_minutes", types, COLUMNS};
static const struct table folded_table = {"sums", types, COLUMNS};

/* Spans whose begins are spread over years have a sum each: these do not wait in memory. */
#define UNFOLDED_MAX 200000u

/* Steps since 1970 take 31 bits, numbers of operations fewer than 24. */
static uint64_t key_of(const struct span_sum *sum)
{
	return sum->begin_ns / STORE_SUMS_STEP_NS << 33 | (sum->operation & 0xffffff) << 9 |
	       (uint64_t)sum->is_error << 8 | sum->part;
}

/* The sum in the map with the time, operation, error and part of `like`. */
static struct span_sum *sum_get(struct map *m, const struct span_sum *like)
{
	struct span_sum *sum = map_get(m, key_of(like));

	if (sum)
		return sum;
	sum = calloc(1, sizeof(*sum));
	if (!sum)
		return NULL;
	*sum = (struct span_sum){.begin_ns = like->begin_ns,
				 .operation = like->operation,
				 .is_error = like->is_error,
				 .part = like->part};
	if (map_put(m, key_of(like), sum) == 0)
		return sum;
	free(sum);
	return NULL;
}

static int value_add(struct map *m, const struct span_sum *like, uint64_t value_ns, int times)
{
	struct span_sum *sum = sum_get(m, like);

	if (!sum || durations_add(&sum->durations, value_ns, times))
		return -ENOMEM;
	sum->count += (uint64_t)(int64_t)times;
	sum->total_ns += value_ns * (uint64_t)(int64_t)times;
	sum->measured += like->measured * (uint64_t)(int64_t)times;
	if (times > 0 && value_ns > sum->max_ns)
		sum->max_ns = value_ns;
	return 0;
}

int span_sums_add(struct span_sums *s, const struct received_span *span, const struct told *told,
		  uint64_t operation, int times)
{
	struct span_sum like = {.begin_ns = span->begin_ns - span->begin_ns % STORE_SUMS_STEP_NS,
				.operation = operation,
				.is_error = span->status == RECEIVED_ERROR,
				.part = SUMS_DURATION,
				.measured = told->measured};
	int unseen = told->stands_for ? times * (int)(told->stands_for - 1) : 0, err;

	times += unseen;
	err = value_add(&s->fresh, &like, received_duration_ns(span), times);
	like.part = SUMS_UNSEEN;
	if (unseen && !err)
		err = value_add(&s->fresh, &like, 0, unseen);
	like.measured = 0;
	for (unsigned int i = 0; told->measured && i < SPLIT_PARTS_COUNT && !err; i++) {
		like.part = (uint8_t)i;
		if (told->time.ns[i])
			err = value_add(&s->fresh, &like, (uint64_t)told->time.ns[i], times);
	}
	return err;
}

static int sum_merge(struct map *m, const struct span_sum *more)
{
	struct span_sum *sum = sum_get(m, more);

	if (!sum || durations_merge(&sum->durations, &more->durations))
		return -ENOMEM;
	sum->count += more->count;
	sum->total_ns += more->total_ns;
	sum->measured += more->measured;
	if (more->max_ns > sum->max_ns)
		sum->max_ns = more->max_ns;
	return 0;
}

static void map_drop(struct map *m)
{
	struct map_entry entry;

	for (size_t at = 0; map_next(m, &at, &entry);) {
		struct span_sum *sum = entry.value;

		durations_free(&sum->durations);
		free(sum);
	}
	map_free(m);
}

/* Adds the fresh sums to those that are not folded, and leaves none. */
static int fresh_merge(struct span_sums *s)
{
	struct map_entry entry;
	int err = 0;

	for (size_t at = 0; map_next(&s->fresh, &at, &entry) && !err;)
		err = sum_merge(&s->unfolded, entry.value);
	map_drop(&s->fresh);
	return err;
}

static int row_write(struct span_sums *s, struct filler *r, const struct span_sum *sum,
		     struct error *e)
{
	s->text.count = 0;
	durations_put(&s->text, &sum->durations);
	if (s->text.failed)
		return error_set(e, ENOMEM, "cannot store sums");
	filler_number(r, 0, sum->begin_ns);
	filler_number(r, 1, r->table == &minutes_table ? SUMS_MINUTE_NS : STORE_SUMS_STEP_NS);
	filler_number(r, 2, sum->operation);
	filler_small(r, 3, sum->is_error);
	filler_small(r, 4, sum->part);
	filler_number(r, 5, sum->count);
	filler_number(r, 6, sum->total_ns);
	filler_number(r, 7, sum->max_ns);
	filler_number(r, 8, sum->measured);
	filler_text(r, 9, s->text.data, s->text.count);
	return filler_next(r, e);
}

static int map_write(struct span_sums *s, const struct map *m, struct filler *r, struct error *e)
{
	struct map_entry entry;
	int err = 0;

	for (size_t at = 0; map_next(m, &at, &entry) && !err;)
		err = row_write(s, r, entry.value, e);
	return err;
}

int span_sums_write(struct span_sums *s, struct database *db, duckdb_connection writer,
		    struct error *e)
{
	struct filler filler = {0};
	int err;

	s->folding = clock_now_ns() >= s->fold_ns || s->unfolded.count > UNFOLDED_MAX;
	if (!s->fresh.count && !(s->folding && s->unfolded.count))
		return 0;
	err = filler_begin(&filler, db, writer, s->folding ? &folded_table : &fresh_table, e);
	if (s->folding)
		err = err ? err : map_write(s, &s->unfolded, &filler, e);
	err = err ? err : map_write(s, &s->fresh, &filler, e);
	err = err ? err : filler_flush(&filler, e);
	filler_end(&filler);
	if (!err && s->folding)
		err = sql_run(db, writer, "DELETE FROM sums_fresh", NULL, e);
	return err;
}

void span_sums_committed(struct span_sums *s)
{
	if (s->folding) {
		map_drop(&s->fresh);
		map_drop(&s->unfolded);
		s->fold_ns = clock_now_ns() + STORE_SUMS_STEP_NS;
	} else if (fresh_merge(s)) {
		/* out of memory: the rows stay in `sums_fresh`, until they are read again */
		map_drop(&s->unfolded);
		s->fold_ns = UINT64_MAX;
	}
	s->folding = false;
}

void span_sums_abandoned(struct span_sums *s)
{
	map_drop(&s->fresh);
	s->folding = false;
}

static int row_add(struct map *m, const struct row *row, uint64_t step_ns)
{
	struct span_sum sum = {.begin_ns = row_number(row, 0) - row_number(row, 0) % step_ns,
			       .operation = row_number(row, 2),
			       .is_error = row_small(row, 3),
			       .part = row_small(row, 4),
			       .count = row_number(row, 5),
			       .total_ns = row_number(row, 6),
			       .max_ns = row_number(row, 7),
			       .measured = row_number(row, 8)};
	size_t bytes;
	const char *buckets = row_text(row, 9, &bytes);
	int err = durations_get(buckets, bytes, &sum.durations);

	err = err ? err : sum_merge(m, &sum);
	durations_free(&sum.durations);
	return err;
}

static int row_take(void *arg, const struct row *row)
{
	struct span_sums *s = arg;

	return row_add(&s->unfolded, row, STORE_SUMS_STEP_NS);
}

static int minute_take(void *arg, const struct row *row)
{
	return row_add(arg, row, SUMS_MINUTE_NS);
}

int span_sums_minutes(struct span_sums *s, struct database *db, duckdb_connection writer,
		      struct error *e)
{
	struct map minutes = {0};
	const struct row_taker taker = {minute_take, &minutes, COLUMNS};
	struct filler filler = {0};
	int err = sql_run(db, writer, "SELECT " SUMS_COLUMNS " FROM sums", &taker, e);

	err = err ? err : filler_begin(&filler, db, writer, &minutes_table, e);
	err = err ? err : map_write(s, &minutes, &filler, e);
	err = err ? err : filler_flush(&filler, e);
	filler_end(&filler);
	map_drop(&minutes);
	return err;
}

int span_sums_load(struct span_sums *s, struct database *db, duckdb_connection writer,
		   struct error *e)
{
	const struct row_taker taker = {row_take, s, COLUMNS};

	map_drop(&s->fresh);
	map_drop(&s->unfolded);
	s->fold_ns = 0;
	return sql_run(db, writer, "SELECT " SUMS_COLUMNS " FROM sums_fresh", &taker, e);
}

void span_sums_free(struct span_sums *s)
{
	map_drop(&s->fresh);
	map_drop(&s->unfolded);
	bytes_free(&s->text);
}
