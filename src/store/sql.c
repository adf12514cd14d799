/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sql.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/internal.h"
#include "store/sql_files.h"

#define COLUMNS_MAX 500

/* The columns of an answer, as DESCRIBE tells them. */
struct describing {
	struct pool pool;
	VEC(const char *) names;
	VEC(const char *) types;
};

static int column_take(void *arg, const struct row *row)
{
	struct describing *d = arg;
	const char *name = text_keep(&d->pool, row_stored(row, 0));
	const char *type = text_keep(&d->pool, row_stored(row, 1));
	int err = name && type && d->names.count < COLUMNS_MAX ? 0 : -ENOMEM;

	err = err ? err : vec_push(&d->names, name);
	return err ? err : vec_push(&d->types, type);
}

static int columns_describe(struct sql_files *files, const struct bytes *sql, struct describing *d,
			    struct error *e)
{
	const struct row_taker taker = {column_take, d, 2};
	struct statement s = {0};
	int err;

	statement_add(&s, "SELECT column_name, column_type FROM (DESCRIBE ");
	bytes_put(&s.sql, sql->data, sql->count);
	statement_add(&s, ")");
	err = statement_run(&files->db, files->connection, &s, &taker, e);
	statement_free(&s);
	return err;
}

static bool is_null(const uint64_t *validity, duckdb_count row)
{
	return validity && !(validity[row / 64] >> row % 64 & 1);
}

static int chunk_tell(struct sql_files *files, duckdb_chunk chunk, size_t columns,
		      const struct sql_taker *taker)
{
	const struct duckdb *api = &files->db.api;
	duckdb_count rows = api->data_chunk_get_size(chunk);
	struct sql_value values[COLUMNS_MAX];
	int err = 0;

	for (duckdb_count i = 0; i < rows && !err; i++) {
		for (size_t c = 0; c < columns; c++) {
			duckdb_vector vector = api->data_chunk_get_vector(chunk, c);
			struct row row = {{api->vector_get_data(vector)}, i};

			values[c] = (struct sql_value){0};
			if (!is_null(api->vector_get_validity(vector), i))
				values[c].text = row_text(&row, 0, &values[c].bytes);
		}
		err = taker->row(taker->arg, values, columns);
	}
	return err;
}

/* Asks for all columns as text. */
static int rows_tell(struct sql_files *files, const struct bytes *sql, size_t columns,
		     const struct sql_taker *taker, struct error *e)
{
	const struct duckdb *api = &files->db.api;
	struct duckdb_result result = {0};
	struct bytes text = {0};
	duckdb_chunk chunk;
	int err = 0;

	bytes_put(&text, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (", 41);
	bytes_put(&text, sql->data, sql->count);
	bytes_put(&text, ")", 2);
	if (text.failed)
		err = error_set(e, ENOMEM, "cannot ask");
	else if (api->query(files->connection, (const char *)text.data, &result))
		err = error_say(e, EIO, "%s", api->result_error(&result));
	while (!err && (chunk = api->fetch_chunk(result))) {
		err = chunk_tell(files, chunk, columns, taker);
		api->destroy_data_chunk(&chunk);
	}
	api->destroy_result(&result);
	bytes_free(&text);
	return err;
}

static bool begins_with_one_of(const char *sql, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t bytes = strlen(words[i]);

		if (strncasecmp(sql, words[i], bytes) == 0 && !isalnum((unsigned char)sql[bytes]))
			return true;
	}
	return false;
}

/* What begins with a comment or a parenthesis is left to DuckDB. */
static int sql_check(const char *sql, struct error *e)
{
	static const char *const words[] = {"select", "with",  "from",	 "values",
					    "table",  "pivot", "unpivot"};

	if (!isalpha((unsigned char)*sql) ||
	    begins_with_one_of(sql, words, sizeof(words) / sizeof(*words)))
		return 0;
	return error_say(e, EINVAL,
			 "only a SELECT is answered, and what tells of views: DESCRIBE spans");
}

/* Without space around it, and semicolons. DESCRIBE and its like are queries in parentheses alone.
 */
static int sql_take(struct bytes *to, const char *sql, struct error *e)
{
	static const char *const telling[] = {"describe", "desc", "show", "summarize"};
	size_t bytes;
	int err = 0;
	bool tells;

	sql += strspn(sql, " \t\n");
	bytes = strlen(sql);
	tells = begins_with_one_of(sql, telling, sizeof(telling) / sizeof(*telling));
	while (bytes && strchr("; \t\n", sql[bytes - 1]))
		bytes--;
	bytes_put(to, "FROM (", tells ? 6 : 0);
	bytes_put(to, sql, bytes);
	bytes_put(to, "\n)", tells ? 2 : 1); /* a comment ends there */
	if (!tells)
		err = sql_check(sql, e);
	return to->failed ? error_set(e, ENOMEM, "cannot ask") : err;
}

/* DuckDB shows the place in a query that is more than who asks wrote. Its reason is one line here.
 */
static void reason_shorten(struct error *e)
{
	char *place = strstr(e->text, "\n\nLINE ");

	if (place)
		*place = '\0';
	for (char *at = e->text; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
}

int store_sql(const char *dir, const char *sql, const struct sql_taker *taker, struct error *e)
{
	struct describing d = {0};
	struct sql_files files;
	struct bytes text = {0};
	int err = sql_files_open(&files, dir, taker, e);

	err = err ? err : sql_take(&text, sql, e);
	err = err ? err : columns_describe(&files, &text, &d, e);
	err = err ? err : taker->columns(taker->arg, d.names.data, d.types.data, d.names.count);
	err = err ? err : rows_tell(&files, &text, d.names.count, taker, e);
	if (err && e)
		reason_shorten(e);
	sql_files_close(&files);
	bytes_free(&text);
	vec_free(&d.names);
	vec_free(&d.types);
	pool_free(&d.pool);
	return err;
}
