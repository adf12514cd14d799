/* SPDX-License-Identifier: Apache-2.0 */
/* Appends rows to a table, by the columns of DuckDB's chunks. */
#ifndef STORE_FILLER_H
#define STORE_FILLER_H

#include "store/database.h"

#define FILLER_COLUMNS_MAX 80

struct table {
	const char *name;
	const int *types; /* of the columns, as duckdb.h numbers them */
	unsigned int columns;
};

/* Start with all zero. */
struct filler {
	struct database *db;
	const struct table *table;
	duckdb_appender appender;
	duckdb_chunk chunk;
	duckdb_vector vectors[FILLER_COLUMNS_MAX];
	void *columns[FILLER_COLUMNS_MAX]; /* the values of the chunk */
	duckdb_count count;		   /* in the chunk */
	size_t chunk_bytes;		   /* of its texts */
	size_t bytes;			   /* of the texts of all rows since filler_begin() */
};

/* Appends to the table of that name in the connection's database. */
int filler_begin(struct filler *r, struct database *db, duckdb_connection connection,
		 const struct table *table, struct error *e);

/* Set columns of the next row; all of them are set. */
void filler_number(struct filler *r, unsigned int column, uint64_t value);
void filler_small(struct filler *r, unsigned int column, uint8_t value);
void filler_id(struct filler *r, unsigned int column, struct trace_id id);
/* Valid UTF-8, unless the column is a blob. */
void filler_text(struct filler *r, unsigned int column, const void *text, size_t bytes);

void filler_empty(struct filler *r, unsigned int column); /* an empty text */

/* Ends a row. */
int filler_next(struct filler *r, struct error *e);

/* Gives all rows to the transaction. */
int filler_flush(struct filler *r, struct error *e);

/* Frees everything, and leaves `r` empty. */
void filler_end(struct filler *r);

#endif
