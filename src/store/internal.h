/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store share. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <pthread.h>

#include "base/map.h"
#include "store/append.h"
#include "store/database.h"
#include "store/store.h"

struct store {
	char *path;
	struct database db;
	pthread_rwlock_t opening; /* for reading: queries; for writing: store_reopen() */
	duckdb_connection writer; /* NULL after store_reopen() failed */
	struct appending appending;
	bool begun; /* a transaction of the writer */
	uint64_t position;
	struct bytes_map operations; /* those that are in the table, by service, name and kind */
};

/* Reads the known operations again. */
int operations_load(struct store *s, struct error *e);

/* Adds the operation of a span, if it is new. */
int operation_add(struct store *s, const struct received_span *span, struct error *e);

/* Adds a condition with one value, unless that is NULL. */
void text_condition(struct statement *s, const char *sql, const char *text);

/* Adds the SQL of a search. 0 or -ENOMEM. The values are in the pool. */
int search_build(struct statement *s, const struct store_query *q, struct pool *pool);

#endif
