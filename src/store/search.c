/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the files, the newest first, and merges what they have. */
#include <errno.h>
#include <stdlib.h>

#include "store/internal.h"

/* Spans of a file that are looked at before all are; DuckDB sorts no more of them cheaply. */
#define FIRST_SPANS 5000u
#define FIRST_SPANS_PER_TRACE 20u

/* Traces of all files that were looked at. */
struct searching {
	const struct store_query *query;
	struct store_marks *out;
	size_t before;	/* that were in `out` */
	uint64_t spans; /* that were looked at in this file, if not all were */
};

static int mark_take(void *arg, const struct row *row)
{
	struct searching *s = arg;
	struct store_mark mark = {row_number(row, 1), row_id(row, 0)};

	s->spans = row_number(row, 2);
	return vec_push(s->out, mark);
}

static int mark_compare(const void *a, const void *b)
{
	const struct store_mark *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->id.high != y->id.high)
		return x->id.high > y->id.high ? 1 : -1;
	return (x->id.low > y->id.low) - (x->id.low < y->id.low);
}

/* Sorts what was found, leaves each trace once, and no more than asked for. */
static int marks_settle(struct searching *s)
{
	struct store_marks *out = s->out;
	struct bytes_map seen = {0};
	size_t kept = s->before;
	int err = 0;

	if (out->count > s->before)
		qsort(out->data + s->before, out->count - s->before, sizeof(*out->data),
		      mark_compare);
	for (size_t i = s->before; i < out->count && kept - s->before < s->query->limit && !err;
	     i++) {
		struct store_mark mark = out->data[i];

		if (bytes_map_get(&seen, &mark.id, sizeof(mark.id)))
			continue;
		err = bytes_map_put(&seen, &mark.id, sizeof(mark.id), PRESENT);
		out->data[kept++] = mark;
	}
	out->count = kept;
	bytes_map_free(&seen);
	return err;
}

static int spans_search(struct searching *searching, const struct asking *a,
			const struct store_file *f, uint64_t spans_max, struct error *e)
{
	const struct row_taker taker = {mark_take, searching, 3};
	struct statement s = {0};
	struct pool pool = {0};
	int err = search_build(&s, searching->query, f, spans_max, &pool);

	searching->spans = 0;
	if (err)
		error_set(e, err, "cannot search");
	err = err ? err : statement_ask(&a->store->db, a->connection, &s, &taker, e);
	statement_free(&s);
	pool_free(&pool);
	return err;
}

/* Looks at the first spans, and at all if these are of too few traces. */
static int file_search(struct searching *searching, const struct asking *a,
		       const struct store_file *f, struct error *e)
{
	const struct store_query *q = searching->query;
	bool has_first = search_has_first(q) && q->limit <= FIRST_SPANS / FIRST_SPANS_PER_TRACE;
	size_t before = searching->out->count;
	int err = store_file_use(f, &a->store->db, a->connection, e);

	if (!err && has_first) {
		err = spans_search(searching, a, f, FIRST_SPANS, e);
		has_first = searching->out->count - before >= q->limit ||
			    searching->spans < FIRST_SPANS;
	}
	if (!err && !has_first) {
		searching->out->count = before;
		err = spans_search(searching, a, f, 0, e);
	}
	if (err)
		searching->out->count = before;
	return err ? err : marks_settle(searching);
}

/* Whether no span of the files before `end` can be among those that are asked for. */
static bool is_done(const struct searching *searching, const struct asking *a, size_t end)
{
	size_t limit = searching->query->limit, count = searching->out->count - searching->before;

	if (!limit || searching->query->sort != STORE_SORT_TIME || count < limit)
		return !limit;
	for (size_t i = 0; i < end; i++) {
		if (a->files.data[i]->greatest_ns >=
		    searching->out->data[searching->out->count - 1].value)
			return false;
	}
	return true;
}

int store_search_marks(struct store *s, const struct store_query *query, struct store_marks *out,
		       struct error *e)
{
	struct searching searching = {.query = query, .out = out, .before = out->count};
	const struct asked asked = {.from_ns = query->begin_from_ns,
				    .to_ns = query->begin_to_ns,
				    .until_ns = query->until_ns};
	struct asking asking;
	int err = asking_begin_for(&asking, s, &asked, e);

	for (size_t i = asking.files.count; i-- && !err && !is_done(&searching, &asking, i + 1);) {
		err = file_search(&searching, &asking, asking.files.data[i], e);
		err = asking_go_on(&asking, asking.files.data[i], err, e);
	}
	err = asking_end(&asking, err, e);
	out->is_partial = err == -ETIMEDOUT; /* the cause says so all the same */
	if (out->is_partial)
		return 0;
	if (err)
		out->count = searching.before;
	return err;
}

int store_search(struct store *s, const struct store_query *query, struct store_ids *out,
		 struct error *e)
{
	struct store_marks marks = {0};
	size_t before = out->count;
	int err = store_search_marks(s, query, &marks, e);

	if (marks.is_partial)
		err = -ETIMEDOUT; /* with its cause */
	for (size_t i = 0; i < marks.count && !err; i++) {
		err = vec_push(out, marks.data[i].id);
		if (err)
			error_set(e, err, "cannot search");
	}
	if (err)
		out->count = before;
	vec_free(&marks);
	return err;
}
