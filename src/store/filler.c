/* SPDX-License-Identifier: Apache-2.0 */
#include "store/filler.h"

#include <errno.h>
#include <string.h>

#define CHUNK_ROWS 2048 /* DuckDB's size of a vector */
/* DuckDB's limit of memory does not count the texts of a chunk. */
#define CHUNK_BYTES_MAX ((size_t)8 << 20)

/* They may move when the chunk is used again. */
static void columns_find(struct filler *r)
{
	for (unsigned int i = 0; i < r->table->columns; i++) {
		r->vectors[i] = r->db->api.data_chunk_get_vector(r->chunk, i);
		r->columns[i] = r->db->api.vector_get_data(r->vectors[i]);
	}
}

int filler_begin(struct filler *r, struct database *db, duckdb_connection connection,
		 const struct table *table, struct error *e)
{
	duckdb_type types[FILLER_COLUMNS_MAX];

	for (unsigned int i = 0; i < table->columns; i++)
		types[i] = db->api.create_logical_type(table->types[i]);
	*r = (struct filler){.db = db, .table = table};
	r->chunk = db->api.create_data_chunk(types, table->columns);
	for (unsigned int i = 0; i < table->columns; i++)
		db->api.destroy_logical_type(&types[i]);
	columns_find(r);
	if (db->api.appender_create(connection, NULL, table->name, &r->appender))
		return error_say(e, EIO, "DuckDB: %s", db->api.appender_error(r->appender));
	return 0;
}

static int chunk_append(struct filler *r, struct error *e)
{
	if (!r->count)
		return 0;
	r->db->api.data_chunk_set_size(r->chunk, r->count);
	if (r->db->api.append_data_chunk(r->appender, r->chunk))
		return error_say(e, EIO, "DuckDB: %s", r->db->api.appender_error(r->appender));
	r->db->api.data_chunk_reset(r->chunk);
	columns_find(r);
	r->count = r->chunk_bytes = 0;
	return 0;
}

void filler_number(struct filler *r, unsigned int column, uint64_t value)
{
	((uint64_t *)r->columns[column])[r->count] = value;
}

void filler_small(struct filler *r, unsigned int column, uint8_t value)
{
	((uint8_t *)r->columns[column])[r->count] = value;
}

void filler_id(struct filler *r, unsigned int column, struct trace_id id)
{
	((struct duckdb_id *)r->columns[column])[r->count] = (struct duckdb_id){id.low, id.high};
}

void filler_empty(struct filler *r, unsigned int column)
{
	((struct duckdb_text *)r->columns[column])[r->count] = (struct duckdb_text){0};
}

void filler_text(struct filler *r, unsigned int column, const void *text, size_t bytes)
{
	struct duckdb_text *to = &((struct duckdb_text *)r->columns[column])[r->count];

	if (bytes > sizeof(to->inlined)) {
		r->db->api.vector_assign_string_element_len(r->vectors[column], r->count, text,
							    bytes);
	} else {
		*to = (struct duckdb_text){.length = (uint32_t)bytes};
		if (bytes)
			memcpy(to->inlined, text, bytes);
	}
	r->chunk_bytes += bytes;
	r->bytes += bytes;
}

int filler_next(struct filler *r, struct error *e)
{
	r->count++;
	return r->count == CHUNK_ROWS || r->chunk_bytes > CHUNK_BYTES_MAX ? chunk_append(r, e) : 0;
}

int filler_flush(struct filler *r, struct error *e)
{
	int err = chunk_append(r, e);

	if (!err && r->db->api.appender_flush(r->appender))
		err = error_say(e, EIO, "DuckDB: %s", r->db->api.appender_error(r->appender));
	return err;
}

void filler_end(struct filler *r)
{
	if (r->appender)
		r->db->api.appender_destroy(&r->appender);
	if (r->chunk)
		r->db->api.destroy_data_chunk(&r->chunk);
	*r = (struct filler){0};
}
