/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of the tables `spans` and `kernel`, in their order; `spans` may have those of
 * layout.h behind.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include "span/split.h"
#include "store/typed.h"

/* FIRST(name, type of SQL, type of the API), and the same with NEXT for the others. */
#define SPAN_COLUMNS(FIRST, NEXT)                                                                  \
	FIRST(trace, "UHUGEINT", DUCKDB_UHUGEINT)                                                  \
	NEXT(span, "UBIGINT", DUCKDB_UBIGINT)                                                      \
	NEXT(parent, "UBIGINT", DUCKDB_UBIGINT)                                                    \
	NEXT(begin_ns, "UBIGINT", DUCKDB_UBIGINT)                                                  \
	NEXT(duration_ns, "UBIGINT", DUCKDB_UBIGINT)                                               \
	NEXT(service, "VARCHAR", DUCKDB_VARCHAR)                                                   \
	NEXT(name, "VARCHAR", DUCKDB_VARCHAR)                                                      \
	NEXT(kind, "UTINYINT", DUCKDB_UTINYINT)                                                    \
	NEXT(status, "UTINYINT", DUCKDB_UTINYINT)                                                  \
	NEXT(attributes, "VARCHAR USING COMPRESSION zstd", DUCKDB_VARCHAR)                         \
	NEXT(resource, "UBIGINT", DUCKDB_UBIGINT)                                                  \
	NEXT(scope, "UBIGINT", DUCKDB_UBIGINT)                                                     \
	NEXT(rest, "VARCHAR", DUCKDB_VARCHAR)                                                      \
	NEXT(version, "UBIGINT", DUCKDB_UBIGINT)

#define SPAN_COLUMN_NUMBER(name, sql, type) COLUMN_##name,
enum span_column {
	SPAN_COLUMNS(SPAN_COLUMN_NUMBER, SPAN_COLUMN_NUMBER) COLUMN_FIRST_PART,
};

/* At most. */
#define COLUMNS_OF_SPANS (COLUMN_FIRST_PART + SPLIT_PARTS_COUNT + TYPED_PLACES)

/* For SELECT. */
#define SPAN_COLUMN_FIRST(name, sql, type) #name
#define SPAN_COLUMN_NEXT(name, sql, type) ", " #name
#define SPAN_COLUMN_NAMES SPAN_COLUMNS(SPAN_COLUMN_FIRST, SPAN_COLUMN_NEXT)

/* For CREATE TABLE. */
#define SPAN_COLUMN_MADE_FIRST(name, sql, type) #name " " sql " NOT NULL"
#define SPAN_COLUMN_MADE_NEXT(name, sql, type) ", " #name " " sql " NOT NULL"
#define SPAN_COLUMNS_MADE SPAN_COLUMNS(SPAN_COLUMN_MADE_FIRST, SPAN_COLUMN_MADE_NEXT)

#endif
