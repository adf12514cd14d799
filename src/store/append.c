/* SPDX-License-Identifier: Apache-2.0 */
#include "store/append.h"

#include <errno.h>
#include <string.h>

#define CHUNK_ROWS 2048 /* DuckDB's size of a vector */
/* DuckDB's limit of memory does not count the texts of a chunk. */
#define CHUNK_BYTES_MAX ((size_t)8 << 20)

static const int column_types[SPAN_COLUMNS] = {
	DUCKDB_UHUGEINT, DUCKDB_UBIGINT, DUCKDB_UBIGINT,  DUCKDB_UBIGINT,  DUCKDB_UBIGINT,
	DUCKDB_VARCHAR,	 DUCKDB_VARCHAR, DUCKDB_UTINYINT, DUCKDB_UTINYINT, DUCKDB_VARCHAR,
	DUCKDB_UBIGINT,	 DUCKDB_UBIGINT, DUCKDB_VARCHAR};

int appending_begin(struct appending *a, struct database *db, duckdb_connection connection,
		    struct error *e)
{
	duckdb_type types[SPAN_COLUMNS];

	for (int i = 0; i < SPAN_COLUMNS; i++)
		types[i] = db->api.create_logical_type(column_types[i]);
	a->rows = a->chunk_bytes = a->bytes = 0;
	a->chunk = db->api.create_data_chunk(types, SPAN_COLUMNS);
	for (int i = 0; i < SPAN_COLUMNS; i++)
		db->api.destroy_logical_type(&types[i]);
	if (db->api.appender_create(connection, NULL, "spans", &a->appender))
		return error_say(e, EIO, "DuckDB: %s", db->api.appender_error(a->appender));
	return 0;
}

static int chunk_append(struct appending *a, struct database *db, struct error *e)
{
	if (!a->rows)
		return 0;
	db->api.data_chunk_set_size(a->chunk, a->rows);
	if (db->api.append_data_chunk(a->appender, a->chunk))
		return error_say(e, EIO, "DuckDB: %s", db->api.appender_error(a->appender));
	db->api.data_chunk_reset(a->chunk);
	a->rows = a->chunk_bytes = 0;
	return 0;
}

static duckdb_vector column(struct appending *a, struct database *db, unsigned int i)
{
	return db->api.data_chunk_get_vector(a->chunk, i);
}

static void number_set(struct appending *a, struct database *db, unsigned int i, uint64_t value)
{
	((uint64_t *)db->api.vector_get_data(column(a, db, i)))[a->rows] = value;
}

static void small_set(struct appending *a, struct database *db, unsigned int i, uint8_t value)
{
	((uint8_t *)db->api.vector_get_data(column(a, db, i)))[a->rows] = value;
}

static void text_set(struct appending *a, struct database *db, unsigned int i, const char *text,
		     size_t bytes)
{
	db->api.vector_assign_string_element_len(column(a, db, i), a->rows, text, bytes);
	a->chunk_bytes += bytes;
	a->bytes += bytes;
}

static void bytes_set(struct appending *a, struct database *db, unsigned int i,
		      const struct bytes *text)
{
	text_set(a, db, i, (const char *)text->data, text->count);
}

static void plain_set(struct appending *a, struct database *db, const struct received_span *span)
{
	((struct duckdb_id *)db->api.vector_get_data(column(a, db, 0)))[a->rows] =
		(struct duckdb_id){span->trace.low, span->trace.high};
	number_set(a, db, 1, span->span_id);
	number_set(a, db, 2, span->parent_id);
	number_set(a, db, 3, span->begin_ns);
	number_set(a, db, 4, received_duration_ns(span));
	text_set(a, db, 5, span->resource->service, strlen(span->resource->service));
	text_set(a, db, 6, span->name, strlen(span->name));
	small_set(a, db, 7, span->kind);
	small_set(a, db, 8, span->status);
}

int appending_add(struct appending *a, struct database *db, const struct received_span *span,
		  struct error *e)
{
	int err = attributes_text(&a->text, &span->attributes);

	if (!err)
		bytes_set(a, db, 9, &a->text);
	err = err ? err : rest_text(&a->text, span);
	if (err)
		return error_set(e, err, "cannot store a span");
	plain_set(a, db, span);
	number_set(a, db, 10, a->resource);
	number_set(a, db, 11, a->scope);
	bytes_set(a, db, 12, &a->text);
	a->rows++;
	return a->rows == CHUNK_ROWS || a->chunk_bytes > CHUNK_BYTES_MAX ? chunk_append(a, db, e)
									 : 0;
}

void appending_forget(struct appending *a)
{
	a->resource_of = NULL;
	a->scope_of = NULL;
}

int appending_flush(struct appending *a, struct database *db, struct error *e)
{
	int err = chunk_append(a, db, e);

	if (!err && db->api.appender_flush(a->appender))
		err = error_say(e, EIO, "DuckDB: %s", db->api.appender_error(a->appender));
	return err;
}

void appending_end(struct appending *a, struct database *db)
{
	if (a->appender)
		db->api.appender_destroy(&a->appender);
	if (a->chunk)
		db->api.destroy_data_chunk(&a->chunk);
	bytes_free(&a->text);
	*a = (struct appending){0};
}
