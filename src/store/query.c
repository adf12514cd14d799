/* SPDX-License-Identifier: Apache-2.0 */
/* Queries as values become SQL here and in search.c, and nowhere else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/internal.h"

int asking_begin(struct asking *a, struct store *s, struct error *e)
{
	*a = (struct asking){.store = s};
	pthread_rwlock_rdlock(&s->opening);
	return database_connect(&s->db, &a->connection, e);
}

void asking_end(struct asking *a)
{
	if (a->connection)
		a->store->db.api.disconnect(&a->connection);
	pthread_rwlock_unlock(&a->store->opening);
}

int statement_ask(struct store *store, struct statement *s, const struct row_taker *taker,
		  struct error *e)
{
	struct asking asking;
	int err = asking_begin(&asking, store, e);

	err = err ? err : statement_run(&store->db, asking.connection, s, taker, e);
	asking_end(&asking);
	statement_free(s);
	return err;
}

static int id_take(void *arg, const struct row *row)
{
	return vec_push((struct store_ids *)arg, row_id(row, 0));
}

int store_search(struct store *s, const struct store_query *query, struct store_ids *out,
		 struct error *e)
{
	const struct row_taker taker = {id_take, out, 1};
	struct statement statement = {0};
	struct pool pool = {0};
	int err = search_build(&statement, query, &pool);

	if (err) {
		statement_free(&statement);
		error_set(e, err, "cannot search");
	} else {
		err = statement_ask(s, &statement, &taker, e);
	}
	pool_free(&pool);
	return err;
}

struct listing {
	struct pool *pool;
	struct store_operations *out;
};

static int operation_take(void *arg, const struct row *row)
{
	struct listing *listing = arg;
	struct store_operation operation = {.service = text_keep(listing->pool, row_stored(row, 0)),
					    .name = text_keep(listing->pool, row_stored(row, 1)),
					    .kind = row_small(row, 2)};

	if (!operation.service || !operation.name)
		return -ENOMEM;
	return vec_push(listing->out, operation);
}

int store_list(struct store *s, const char *service, struct pool *pool,
	       struct store_operations *out, struct error *e)
{
	struct listing listing = {pool, out};
	const struct row_taker taker = {operation_take, &listing, 3};
	struct statement statement = {0};

	statement_add(&statement,
		      "SELECT DISTINCT service, name, kind FROM operations WHERE kind <> 255");
	text_condition(&statement, " AND service = ?", service);
	statement_add(&statement, " ORDER BY service, name, kind");
	return statement_ask(s, &statement, &taker, e);
}

static int count_take(void *arg, const struct row *row)
{
	*(uint64_t *)arg = row_number(row, 0);
	return 0;
}

int store_count(struct store *s, struct store_counts *out, struct error *e)
{
	static const char *const ends[] = {"", ".wal"};
	struct statement statement = {0};
	struct store_counts counts = {0};
	const struct row_taker taker = {count_take, &counts.spans, 1};
	int err;

	statement_add(&statement, "SELECT count(*)::UBIGINT FROM spans");
	err = statement_ask(s, &statement, &taker, e);
	for (size_t i = 0; i < 2 && !err; i++) {
		char path[4200];
		struct stat st;

		snprintf(path, sizeof(path), "%s%s", s->path, ends[i]);
		if (stat(path, &st) == 0)
			counts.bytes += (uint64_t)st.st_size;
	}
	counts.unlisted_spans = __atomic_load_n(&s->unlisted_spans, __ATOMIC_RELAXED);
	counts.repeats = __atomic_load_n(&s->repeats, __ATOMIC_RELAXED);
	counts.replaced = __atomic_load_n(&s->replaced, __ATOMIC_RELAXED);
	if (!err)
		*out = counts;
	return err;
}
