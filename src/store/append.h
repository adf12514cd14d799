/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the tables of spans, of kernel spans, and of the texts that they share. */
#ifndef STORE_APPEND_H
#define STORE_APPEND_H

#include "store/columns.h"
#include "store/file.h"
#include "store/filler.h"
#include "store/told.h"

struct appending {
	struct filler filler, kernel, texts;
	struct typed *typed;  /* the keys of the file */
	struct layout layout; /* the columns that it has with what is appended */
	struct table spans;
	int types[COLUMNS_OF_SPANS];
	struct database *db;
	duckdb_connection connection;
	struct typed_learning learning;
	VEC(struct attribute) rest; /* attributes without a column, of a span */
	struct bytes text;
	/* the numbers of the texts of resource and scope, and what they are of */
	uint64_t resource, scope;
	const struct received_resource *resource_of;
	const struct received_scope *scope_of;
};

/* Into the file that the connection uses. */
int appending_begin(struct appending *a, struct store_file *f, struct database *db,
		    duckdb_connection connection, struct error *e);
/* Into the table of kernel spans if it is one. The numbers of resource and scope are set. */
int appending_add(struct appending *a, const struct received_span *span, const struct told *told,
		  struct error *e);
/* Adds a text of a resource or scope by its number, which is not in the table. */
int appending_text(struct appending *a, uint64_t number, const struct bytes *text, struct error *e);
/* Bytes of the texts of all rows that were added. */
size_t appending_bytes(const struct appending *a);
/* The memory of resources and scopes goes away. */
void appending_forget(struct appending *a);
int appending_flush(struct appending *a, struct error *e);
void appending_end(struct appending *a);

#endif
