/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the table of spans, by the columns of DuckDB's chunks. */
#ifndef STORE_APPEND_H
#define STORE_APPEND_H

#include "store/database.h"
#include "store/span_text.h"

#define SPAN_COLUMNS 13

struct appending {
	duckdb_appender appender;
	duckdb_chunk chunk;
	duckdb_count rows;  /* in the chunk */
	size_t chunk_bytes; /* of its texts */
	size_t bytes;	    /* of the texts of all rows since appending_begin() */
	struct bytes text;
	/* the numbers of the texts of resource and scope, and what they are of */
	uint64_t resource, scope;
	const struct received_resource *resource_of;
	const struct received_scope *scope_of;
};

int appending_begin(struct appending *a, struct database *db, duckdb_connection connection,
		    struct error *e);
/* The numbers of resource and scope are set. */
int appending_add(struct appending *a, struct database *db, const struct received_span *span,
		  struct error *e);
/* The memory of resources and scopes goes away. */
void appending_forget(struct appending *a);
int appending_flush(struct appending *a, struct database *db, struct error *e);
void appending_end(struct appending *a, struct database *db);

#endif
