/* SPDX-License-Identifier: Apache-2.0 */
/* Queries as values become SQL here and in search.c, and nowhere else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/internal.h"

/* Runs a statement on a connection of its own, and frees it. */
static int statement_ask(struct store *store, struct statement *s, const struct row_taker *taker,
			 struct error *e)
{
	duckdb_connection connection = NULL;
	int err;

	pthread_rwlock_rdlock(&store->opening);
	err = database_connect(&store->db, &connection, e);
	err = err ? err : statement_run(&store->db, connection, s, taker, e);
	if (connection)
		store->db.api.disconnect(&connection);
	pthread_rwlock_unlock(&store->opening);
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

struct finding {
	struct pool *pool;
	struct received_batch *out;
	struct map seen; /* the spans of `out` by their ids */
	/* those of the last row, which the next one often has, too */
	struct stored_text resource_text, scope_text;
	const char *service;
	const struct received_resource *resource;
	const struct received_scope *scope;
};

static struct stored_text text_of(const struct row *row, unsigned int column)
{
	struct stored_text text;

	text.data = row_text(row, column, &text.bytes);
	return text;
}

static bool texts_equal(struct stored_text a, struct stored_text b)
{
	return a.bytes == b.bytes && (!a.bytes || memcmp(a.data, b.data, a.bytes) == 0);
}

/* A copy in the pool that ends with NUL. */
static const char *text_keep(struct pool *pool, struct stored_text text)
{
	char *copy = pool_alloc(pool, text.bytes + 1, 1);

	if (copy && text.bytes)
		memcpy(copy, text.data, text.bytes);
	return copy;
}

static int resource_take(struct finding *f, const struct row *row)
{
	struct stored_text text = text_of(row, 10), service = text_of(row, 5);
	struct received_resource *resource;

	if (f->resource && texts_equal(text, f->resource_text) &&
	    texts_equal(service, (struct stored_text){f->service, strlen(f->service)}))
		return 0;
	resource = pool_alloc(f->pool, 1, sizeof(*resource));
	f->resource_text = (struct stored_text){text_keep(f->pool, text), text.bytes};
	f->service = text_keep(f->pool, service);
	if (!resource || !f->resource_text.data || !f->service)
		return -ENOMEM;
	resource->service = f->service;
	f->resource = resource;
	return resource_text_read(text, f->pool, resource);
}

static int scope_take(struct finding *f, const struct row *row)
{
	struct stored_text text = text_of(row, 11);
	struct received_scope *scope;

	if (f->scope && texts_equal(text, f->scope_text))
		return 0;
	scope = pool_alloc(f->pool, 1, sizeof(*scope));
	f->scope_text = (struct stored_text){text_keep(f->pool, text), text.bytes};
	if (!scope || !f->scope_text.data)
		return -ENOMEM;
	f->scope = scope;
	return scope_text_read(text, f->pool, scope);
}

/* 1: the span is new. The halves of a call between programs may have one id, and two kinds. */
static int is_new(struct finding *f, const struct received_span *span)
{
	uint64_t trace = hash_pair(span->trace.high, span->trace.low);
	uint64_t key = hash_pair(hash_pair(trace, span->span_id), span->kind);
	int err;

	if (map_get(&f->seen, key))
		return 0;
	err = map_put(&f->seen, key, PRESENT);
	return err ? err : 1;
}

static int span_take(void *arg, const struct row *row)
{
	struct finding *f = arg;
	struct received_span span = {.trace = row_id(row, 0),
				     .span_id = row_number(row, 1),
				     .parent_id = row_number(row, 2),
				     .begin_ns = row_number(row, 3),
				     .kind = row_small(row, 7),
				     .status = row_small(row, 8)};
	int err = is_new(f, &span);

	if (err <= 0)
		return err;
	span.end_ns = span.begin_ns + row_number(row, 4);
	span.name = text_keep(f->pool, text_of(row, 6));
	err = span.name ? resource_take(f, row) : -ENOMEM;
	err = err ? err : scope_take(f, row);
	err = err ? err : attributes_text_read(text_of(row, 9), f->pool, &span.attributes);
	err = err ? err : rest_text_read(text_of(row, 12), f->pool, &span);
	span.resource = f->resource;
	span.scope = f->scope;
	return err ? err : vec_push(f->out, span);
}

int store_find(struct store *s, const struct store_ids *ids, struct pool *pool,
	       struct received_batch *out, struct error *e)
{
	struct finding finding = {.pool = pool, .out = out};
	const struct row_taker taker = {span_take, &finding, 13};
	struct statement statement = {0};
	size_t before = out->count;
	int err;

	if (!ids->count)
		return 0;
	statement_add(&statement,
		      "SELECT trace, span, parent, begin_ns, duration_ns, service, name, kind, "
		      "status, attributes, resource, scope, rest FROM spans WHERE trace IN (");
	for (size_t i = 0; i < ids->count; i++) {
		statement_add(&statement, i ? ", ?" : "?");
		statement_bind_id(&statement, ids->data[i]);
	}
	statement_add(&statement, ") ORDER BY begin_ns, duration_ns DESC, span");
	err = statement_ask(s, &statement, &taker, e);
	if (err)
		out->count = before;
	map_free(&finding.seen);
	return err;
}

struct listing {
	struct pool *pool;
	struct store_operations *out;
};

static int operation_take(void *arg, const struct row *row)
{
	struct listing *listing = arg;
	struct store_operation operation = {.service = text_keep(listing->pool, text_of(row, 0)),
					    .name = text_keep(listing->pool, text_of(row, 1)),
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

	statement_add(&statement, "SELECT service, name, kind FROM operations WHERE true");
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
	if (!err)
		*out = counts;
	return err;
}
