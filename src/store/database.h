/* SPDX-License-Identifier: Apache-2.0 */
/* A file of DuckDB: statements with bound values, and their rows. */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "span/received.h"
#include "store/duckdb.h"

struct database {
	struct duckdb api;
	duckdb_database handle;
};

/* The path of a database in memory, to which files are attached; it may reach any file first. */
#define DATABASE_ALL ":memory:"

int database_open(const char *path, const char *library, struct database *out, struct error *e);
void database_close(struct database *db);

/* Closes the file and opens it again. On failure it stays closed, and this can be tried again. */
int database_reopen(const char *path, struct database *db, struct error *e);

/* A connection is for one thread at a time. -EIO if the file is closed. */
int database_connect(struct database *db, duckdb_connection *out, struct error *e);

enum bound_type { BOUND_NUMBER, BOUND_ID, BOUND_TEXT };

struct bound {
	enum bound_type type;
	uint64_t number;
	struct trace_id id;
	const char *text; /* borrowed */
	size_t bytes;
};

/* SQL, and the values of its question marks in their order. Start with all zero. */
struct statement {
	struct bytes sql;
	VEC(struct bound) values;
	bool failed; /* out of memory */
};

void statement_add(struct statement *s, const char *sql);
void statement_add_quoted(struct statement *s, const char *text); /* as an SQL string */
void statement_bind_number(struct statement *s, uint64_t number);
void statement_bind_id(struct statement *s, struct trace_id id);
void statement_bind_text(struct statement *s, const char *text, size_t bytes);
void statement_free(struct statement *s);

#define ROW_COLUMNS_MAX 64

struct row {
	void *columns[ROW_COLUMNS_MAX];
	size_t index;
};

static inline uint64_t row_number(const struct row *row, unsigned int column)
{
	return ((const uint64_t *)row->columns[column])[row->index];
}

static inline uint8_t row_small(const struct row *row, unsigned int column)
{
	return ((const uint8_t *)row->columns[column])[row->index];
}

static inline struct trace_id row_id(const struct row *row, unsigned int column)
{
	struct duckdb_id id = ((const struct duckdb_id *)row->columns[column])[row->index];

	return (struct trace_id){id.high, id.low};
}

/* Borrowed from the row; not ended with NUL. */
static inline const char *row_text(const struct row *row, unsigned int column, size_t *bytes)
{
	const struct duckdb_text *text = (const struct duckdb_text *)row->columns[column];

	text += row->index;
	*bytes = text->length;
	return text->length <= sizeof(text->inlined) ? text->inlined : text->data;
}

/* Who takes the rows of a statement, none of which has a NULL. */
struct row_taker {
	/* 0, or a negative errno that ends the statement */
	int (*take)(void *arg, const struct row *row);
	void *arg;
	unsigned int columns;
};

/* Runs a statement. `taker` may be NULL. 0, or -EIO with DuckDB's words. */
int statement_run(struct database *db, duckdb_connection connection, const struct statement *s,
		  const struct row_taker *taker, struct error *e);

/*
 * The same for a query: its values are written into its SQL, so that DuckDB plans with them, and
 * passes over what cannot have them. None of its SQL has a question mark that stands for no value.
 */
int statement_ask(struct database *db, duckdb_connection connection, const struct statement *s,
		  const struct row_taker *taker, struct error *e);

/* The same for a query with many rows: they are taken while it runs, and are not kept before. */
int statement_stream(struct database *db, duckdb_connection connection, const struct statement *s,
		     const struct row_taker *taker, struct error *e);

/* Runs SQL without values. */
int sql_run(struct database *db, duckdb_connection connection, const char *sql,
	    const struct row_taker *taker, struct error *e);

#endif
