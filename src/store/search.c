/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the files, the newest first, and merges what they have. */
#include <errno.h>
#include <stdlib.h>

#include "store/internal.h"

/* Traces of all files that were looked at. */
struct searching {
	const struct store_query *query;
	struct store_marks *out;
	size_t before; /* that were in `out` */
};

static int mark_take(void *arg, const struct row *row)
{
	struct searching *s = arg;
	struct store_mark mark = {row_number(row, 1), row_id(row, 0)};

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

static int file_search(struct searching *searching, const struct asking *a,
		       const struct store_file *f, struct error *e)
{
	const struct row_taker taker = {mark_take, searching, 2};
	struct statement s = {0};
	struct pool pool = {0};
	size_t before = searching->out->count;
	int err = search_build(&s, searching->query, &pool);

	if (err)
		error_set(e, err, "cannot search");
	err = err ? err : store_file_use(f, &a->store->db, a->connection, e);
	err = err ? err : statement_run(&a->store->db, a->connection, &s, &taker, e);
	statement_free(&s);
	pool_free(&pool);
	if (err)
		searching->out->count = before;
	return err ? err : marks_settle(searching);
}

/* Whether no span of the files before `end` can be among those that are asked for. */
static bool is_done(const struct searching *searching, const struct store *s, size_t end)
{
	size_t limit = searching->query->limit, count = searching->out->count - searching->before;

	if (!limit || searching->query->sort != STORE_SORT_TIME || count < limit)
		return !limit;
	for (size_t i = 0; i < end; i++) {
		if (s->files.data[i].greatest_ns >=
		    searching->out->data[searching->out->count - 1].value)
			return false;
	}
	return true;
}

int store_search_marks(struct store *s, const struct store_query *query, struct store_marks *out,
		       struct error *e)
{
	struct searching searching = {.query = query, .out = out, .before = out->count};
	struct asking asking;
	int err = asking_begin(&asking, s, e);

	for (size_t i = s->files.count; i-- && !err && !is_done(&searching, s, i + 1);) {
		if (store_file_is_in(&s->files.data[i], query->begin_from_ns, query->begin_to_ns,
				     0))
			err = file_search(&searching, &asking, &s->files.data[i], e);
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
