/* SPDX-License-Identifier: Apache-2.0 */
#include "store/append.h"

#include <errno.h>
#include <string.h>

#include "store/columns.h"
#include "store/span_text.h"

#define COLUMNS (COLUMN_FIRST_PART + SPLIT_PARTS_COUNT)
#define C(name, sql, type) [COLUMN_##name] = type,
static const int types[COLUMNS] = {[COLUMN_FIRST_PART... COLUMNS - 1] = DUCKDB_UBIGINT,
				   SPAN_COLUMNS(C, C)};
#undef C
static const struct table spans = {"spans", types, COLUMNS};
static const struct table kernel = {"kernel", types, COLUMN_FIRST_PART};

int appending_begin(struct appending *a, struct database *db, duckdb_connection connection,
		    struct error *e)
{
	int err = filler_begin(&a->filler, db, connection, &spans, e);

	return err ? err : filler_begin(&a->kernel, db, connection, &kernel, e);
}

static void plain_set(struct filler *r, const struct received_span *span)
{
	filler_id(r, COLUMN_trace, span->trace);
	filler_number(r, COLUMN_span, span->span_id);
	filler_number(r, COLUMN_parent, span->parent_id);
	filler_number(r, COLUMN_begin_ns, span->begin_ns);
	filler_number(r, COLUMN_duration_ns, received_duration_ns(span));
	filler_text(r, COLUMN_service, span->resource->service, strlen(span->resource->service));
	filler_text(r, COLUMN_name, span->name, strlen(span->name));
	filler_small(r, COLUMN_kind, span->kind);
	filler_small(r, COLUMN_status, span->status);
}

int appending_add(struct appending *a, const struct received_span *span, const struct told *told,
		  struct error *e)
{
	struct filler *r = told->kernel ? &a->kernel : &a->filler;
	int err = attributes_text(&a->text, &span->attributes);

	if (!err)
		filler_text(r, COLUMN_attributes, a->text.data, a->text.count);
	err = err ? err : rest_text(&a->text, span);
	if (err)
		return error_set(e, err, "cannot store a span");
	plain_set(r, span);
	filler_number(r, COLUMN_resource, a->resource);
	filler_number(r, COLUMN_scope, a->scope);
	filler_text(r, COLUMN_rest, a->text.data, a->text.count);
	filler_number(r, COLUMN_version, told->version);
	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT && !told->kernel; i++)
		filler_number(r, COLUMN_FIRST_PART + i, (uint64_t)told->time.ns[i]);
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
