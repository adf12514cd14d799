/* SPDX-License-Identifier: Apache-2.0 */
#include "store/append.h"

#include <errno.h>
#include <string.h>

#include "store/span_text.h"

#define FIRST_PART 14 /* column */

static const int types[FIRST_PART + SPLIT_PARTS_COUNT] = {
	DUCKDB_UHUGEINT,
	DUCKDB_UBIGINT,
	DUCKDB_UBIGINT,
	DUCKDB_UBIGINT,
	DUCKDB_UBIGINT,
	DUCKDB_VARCHAR,
	DUCKDB_VARCHAR,
	DUCKDB_UTINYINT,
	DUCKDB_UTINYINT,
	DUCKDB_VARCHAR,
	DUCKDB_UBIGINT,
	DUCKDB_UBIGINT,
	DUCKDB_VARCHAR,
	DUCKDB_UBIGINT,
	[FIRST_PART... FIRST_PART + SPLIT_PARTS_COUNT - 1] = DUCKDB_UBIGINT};
static const struct table spans = {"spans", types, FIRST_PART + SPLIT_PARTS_COUNT};
static const struct table kernel = {"kernel", types, FIRST_PART};

int appending_begin(struct appending *a, struct database *db, duckdb_connection connection,
		    struct error *e)
{
	int err = filler_begin(&a->filler, db, connection, &spans, e);

	return err ? err : filler_begin(&a->kernel, db, connection, &kernel, e);
}

static void plain_set(struct filler *r, const struct received_span *span)
{
	filler_id(r, 0, span->trace);
	filler_number(r, 1, span->span_id);
	filler_number(r, 2, span->parent_id);
	filler_number(r, 3, span->begin_ns);
	filler_number(r, 4, received_duration_ns(span));
	filler_text(r, 5, span->resource->service, strlen(span->resource->service));
	filler_text(r, 6, span->name, strlen(span->name));
	filler_small(r, 7, span->kind);
	filler_small(r, 8, span->status);
}

int appending_add(struct appending *a, const struct received_span *span, const struct told *told,
		  struct error *e)
{
	struct filler *r = told->kernel ? &a->kernel : &a->filler;
	int err = attributes_text(&a->text, &span->attributes);

	if (!err)
		filler_text(r, 9, a->text.data, a->text.count);
	err = err ? err : rest_text(&a->text, span);
	if (err)
		return error_set(e, err, "cannot store a span");
	plain_set(r, span);
	filler_number(r, 10, a->resource);
	filler_number(r, 11, a->scope);
	filler_text(r, 12, a->text.data, a->text.count);
	filler_number(r, 13, told->version);
	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT && !told->kernel; i++)
		filler_number(r, FIRST_PART + i, (uint64_t)told->time.ns[i]);
	return filler_next(r, e);
}

void appending_forget(struct appending *a)
{
	a->resource_of = NULL;
	a->scope_of = NULL;
}

int appending_flush(struct appending *a, struct error *e)
{
	int err = filler_flush(&a->filler, e);

	return err ? err : filler_flush(&a->kernel, e);
}

size_t appending_bytes(const struct appending *a)
{
	return a->filler.bytes + a->kernel.bytes;
}

void appending_end(struct appending *a)
{
	filler_end(&a->filler);
	filler_end(&a->kernel);
	bytes_free(&a->text);
	*a = (struct appending){0};
}
