/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the rows of sums up, by the groups that a query asks for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

#define MINUTES_RANGE_NS UINT64_C(7200000000000) /* of which minutes are fine enough */

struct summing {
	const struct asking *asking;
	const struct store_sums_query *query;
	struct pool *pool;
	struct store_sums *out;
	struct bytes_map groups; /* their places in `out` + 1 */
	struct bytes key;
};

/* The columns of a row, as rows_ask() selects them. */
enum {
	BEGIN,
	STEP,
	OPERATION,
	IS_ERROR,
	PART,
	COUNT,
	TOTAL,
	MAX,
	MEASURED,
	BUCKETS,
	SERVICE,
	NAME,
	KIND,
	COLUMNS
};

static bool is_by(const struct summing *s, enum store_by by)
{
	return s->query->by & by;
}

static uint64_t time_of(const struct summing *s, const struct row *row)
{
	uint64_t begin_ns = row_number(row, BEGIN), step_ns = s->query->step_ns;

	if (!is_by(s, STORE_BY_TIME))
		return 0;
	return begin_ns - begin_ns % (step_ns ? step_ns : STORE_SUMS_STEP_NS);
}

static void key_make(struct summing *s, const struct row *row)
{
	struct stored_text service = row_stored(row, SERVICE), name = row_stored(row, NAME);

	s->key.count = 0;
	bytes_put_u64(&s->key, time_of(s, row));
	bytes_put_u8(&s->key, is_by(s, STORE_BY_KIND) ? row_small(row, KIND) : 0);
	bytes_put_u8(&s->key, is_by(s, STORE_BY_ERROR) ? row_small(row, IS_ERROR) : 0);
	if (is_by(s, STORE_BY_SERVICE))
		bytes_put(&s->key, service.data, service.bytes);
	bytes_put_u8(&s->key, 0);
	if (is_by(s, STORE_BY_OPERATION))
		bytes_put(&s->key, name.data, name.bytes);
}

static int group_make(struct summing *s, const struct row *row)
{
	struct store_sum sum = {.service = "", .operation = "", .begin_ns = time_of(s, row)};

	if (s->out->count >= STORE_SUMS_MAX)
		return -E2BIG;
	if (is_by(s, STORE_BY_SERVICE))
		sum.service = text_keep(s->pool, row_stored(row, SERVICE));
	if (is_by(s, STORE_BY_OPERATION))
		sum.operation = text_keep(s->pool, row_stored(row, NAME));
	sum.kind = is_by(s, STORE_BY_KIND) ? row_small(row, KIND) : 0;
	sum.is_error = is_by(s, STORE_BY_ERROR) && row_small(row, IS_ERROR);
	if (!sum.service || !sum.operation)
		return -ENOMEM;
	if (s->query->has_parts) {
		sum.parts = pool_alloc(s->pool, SPLIT_PARTS_COUNT, sizeof(*sum.parts));
		if (!sum.parts)
			return -ENOMEM;
	}
	return vec_push(s->out, sum);
}

static int group_find(struct summing *s, const struct row *row, struct store_sum **out)
{
	uintptr_t place;
	int err;

	key_make(s, row);
	if (s->key.failed)
		return -ENOMEM;
	place = (uintptr_t)bytes_map_get(&s->groups, s->key.data, s->key.count);
	if (!place) {
		err = group_make(s, row);
		if (err)
			return err;
		place = s->out->count;
		err = bytes_map_put(&s->groups, s->key.data, s->key.count, (void *)place);
		if (err)
			return err;
	}
	*out = &s->out->data[place - 1];
	return 0;
}

static int part_take(struct store_sum *sum, const struct row *row)
{
	unsigned int part = row_small(row, PART);
	size_t bytes;
	const char *buckets = row_text(row, BUCKETS, &bytes);

	if (part >= SPLIT_PARTS_COUNT)
		return 0; /* of a newer version */
	sum->time.ns[part] = split_sum(sum->time.ns[part], (s64)row_number(row, TOTAL));
	return sum->parts ? durations_get(buckets, bytes, &sum->parts[part]) : 0;
}

/* What the row of the duration counts, and nobody saw. */
static void unseen_take(struct store_sum *sum, const struct row *row)
{
	sum->seen -= row_number(row, COUNT);
	sum->measured_seen -= row_number(row, MEASURED);
}

static int row_take(void *arg, const struct row *row)
{
	struct summing *s = arg;
	struct store_sum *sum;
	size_t bytes;
	const char *buckets = row_text(row, BUCKETS, &bytes);
	int err = asking_is_over(s->asking) ? -ETIMEDOUT : group_find(s, row, &sum);

	if (!err && row_small(row, PART) == SUMS_UNSEEN) {
		unseen_take(sum, row);
		return 0;
	}
	if (err || row_small(row, PART) != SUMS_DURATION)
		return err ? err : part_take(sum, row);
	sum->count += row_number(row, COUNT);
	sum->seen += row_number(row, COUNT);
	if (row_small(row, IS_ERROR))
		sum->errors += row_number(row, COUNT);
	sum->total_ns += row_number(row, TOTAL);
	sum->measured += row_number(row, MEASURED);
	sum->measured_seen += row_number(row, MEASURED);
	if (row_number(row, MAX) > sum->max_ns)
		sum->max_ns = row_number(row, MAX);
	return durations_get(buckets, bytes, &sum->durations);
}

/* Whether minutes are fine enough for the range and the step of a query. */
static bool minutes_do(const struct store_sums_query *q)
{
	uint64_t range_ns = q->to_ns > q->from_ns ? q->to_ns - q->from_ns : UINT64_MAX;

	if (q->by & STORE_BY_TIME && (!q->step_ns || q->step_ns % SUMS_MINUTE_NS))
		return false;
	return range_ns > MINUTES_RANGE_NS;
}

static void conditions_add(struct statement *s, const struct store_sums_query *q)
{
	text_condition(s, " AND service = ?", q->service);
	text_condition(s, " AND name = ?", q->operation);
	statement_add(s, q->kind >= 0 ? " AND kind = ?" : " AND kind <> ?");
	statement_bind_number(s, q->kind >= 0 ? (uint64_t)q->kind : KIND_EDGE);
	if (q->from_ns) {
		statement_add(s, " AND begin_ns >= ? - ? % step_ns");
		statement_bind_number(s, q->from_ns);
		statement_bind_number(s, q->from_ns);
	}
	number_condition(s, " AND begin_ns < ?", q->to_ns);
}

static int file_ask(struct summing *summing, const struct asking *a, const struct store_file *f,
		    struct error *e)
{
	const struct store_sums_query *q = summing->query;
	const struct row_taker taker = {row_take, summing, COLUMNS};
	struct statement s = {0};
	int err = store_file_use(f, &a->store->db, a->connection, e);

	statement_add(&s, "SELECT " SUMS_COLUMNS ", service, name, kind FROM (");
	statement_add(&s, f->has_minutes && minutes_do(q) ? "FROM sums_minutes"
							  : "FROM sums UNION ALL FROM sums_fresh");
	statement_add(&s, ") JOIN operations ON operation = id WHERE true");
	conditions_add(&s, q);
	err = err ? err : statement_ask(&a->store->db, a->connection, &s, &taker, e);
	statement_free(&s);
	return err;
}

static int rows_ask(struct store *s, struct summing *summing, struct error *e)
{
	const struct store_sums_query *q = summing->query;
	struct asking asking;
	/* the range is rounded out by up to a minute */
	const struct asked asked = {
		.from_ns = q->from_ns, .to_ns = q->to_ns, .around_ns = SUMS_MINUTE_NS};
	int err = asking_begin_for(&asking, s, &asked, e);

	summing->asking = &asking;
	for (size_t i = 0; i < asking.files.count && !err; i++) {
		err = file_ask(summing, &asking, asking.files.data[i], e);
		err = asking_go_on(&asking, asking.files.data[i], err, e);
	}
	return asking_end(&asking, err, e);
}

static int sum_compare(const void *a, const void *b)
{
	const struct store_sum *x = a, *y = b;
	int order = strcmp(x->service, y->service);

	order = order ? order : strcmp(x->operation, y->operation);
	order = order ? order : x->kind - y->kind;
	order = order ? order : x->is_error - y->is_error;
	return order ? order : (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

int store_sums(struct store *s, const struct store_sums_query *query, struct pool *pool,
	       struct store_sums *out, struct error *e)
{
	struct summing summing = {.query = query, .pool = pool, .out = out};
	size_t before = out->count;
	int err = rows_ask(s, &summing, e);

	if (!err && out->count > before)
		qsort(out->data + before, out->count - before, sizeof(*out->data), sum_compare);
	bytes_map_free(&summing.groups);
	bytes_free(&summing.key);
	return err;
}

int store_edges(struct store *s, const struct store_range *range, struct pool *pool,
		struct store_sums *out, struct error *e)
{
	const struct store_sums_query query = {.kind = KIND_EDGE,
					       .from_ns = range->from_ns,
					       .to_ns = range->to_ns,
					       .by = STORE_BY_SERVICE | STORE_BY_OPERATION};

	return store_sums(s, &query, pool, out, e);
}

void store_sums_free(struct store_sums *sums)
{
	for (size_t i = 0; i < sums->count; i++) {
		durations_free(&sums->data[i].durations);
		for (unsigned int p = 0; sums->data[i].parts && p < SPLIT_PARTS_COUNT; p++)
			durations_free(&sums->data[i].parts[p]);
	}
	vec_free(sums);
}
