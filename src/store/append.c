/* SPDX-License-Identifier: Apache-2.0 */
#include "store/append.h"

#include <errno.h>
#include <string.h>

#include "store/span_text.h"

#define C(name, sql, type) [COLUMN_##name] = type,
static const int types[COLUMN_FIRST_PART] = {SPAN_COLUMNS(C, C)};
#undef C
static const struct table kernel = {"kernel", types, COLUMN_FIRST_PART};
static const int text_types[] = {DUCKDB_UBIGINT, DUCKDB_VARCHAR};
static const struct table texts = {"texts", text_types, 2};

/* Fills the table of spans, which has the columns of the layout. */
static int spans_begin(struct appending *a, struct database *db, struct error *e)
{
	const struct layout *l = &a->layout;

	memcpy(a->types, types, sizeof(types));
	for (unsigned int i = COLUMN_FIRST_PART; i < l->columns; i++)
		a->types[i] = DUCKDB_UBIGINT;
	for (unsigned int i = 0; i < TYPED_TEXTS; i++) {
		if (l->typed[i])
			a->types[l->typed[i]] = DUCKDB_VARCHAR;
	}
	a->spans = (struct table){"spans", a->types, l->columns};
	return filler_begin(&a->filler, db, a->connection, &a->spans, e);
}

int appending_begin(struct appending *a, struct store_file *f, struct database *db,
		    duckdb_connection connection, struct error *e)
{
	int err;

	a->db = db;
	a->connection = connection;
	a->typed = &f->typed;
	a->layout = f->layout;
	err = spans_begin(a, db, e);
	return err ? err : filler_begin(&a->kernel, db, connection, &kernel, e);
}

/* The first span with a split came. */
static int parts_add(struct appending *a, struct error *e)
{
	struct database *db = a->filler.db;
	size_t bytes = a->filler.bytes;
	int err = filler_flush(&a->filler, e);

	filler_end(&a->filler);
	err = err ? err : layout_add_parts(&a->layout, db, a->connection, e);
	err = err ? err : spans_begin(a, db, e);
	a->filler.bytes = bytes;
	return err;
}

/* Sets the columns of attributes that have one, and leaves the others in `rest`. */
static int typed_set(struct appending *a, const struct received_list *list)
{
	const uint8_t *columns = a->layout.typed;
	struct filler *r = &a->filler;
	uint32_t is_set = 0;
	int err = 0;

	a->rest.count = 0;
	for (size_t i = 0; i < list->count && !err; i++) {
		const struct attribute *one = &list->data[i];
		int place = typed_place(a->typed, &a->learning, one, i);

		if (place < 0 || is_set & 1u << place) {
			err = vec_push(&a->rest, *one);
			continue;
		}
		is_set |= 1u << place;
		if (one->type == VALUE_STRING)
			filler_text(r, columns[place], one->string, strlen(one->string));
		else
			filler_number(r, columns[place], (uint64_t)one->integer + 1);
	}
	for (unsigned int i = 0; i < TYPED_PLACES; i++) {
		if (!columns[i] || is_set & 1u << i)
			continue;
		if (i < TYPED_TEXTS)
			filler_empty(r, columns[i]);
		else
			filler_number(r, columns[i], 0);
	}
	return err;
}

static int attributes_set(struct appending *a, const struct received_span *span,
			  const struct told *told)
{
	struct received_list list = span->attributes;
	int err = 0;

	if (!told->kernel) {
		err = typed_set(a, &span->attributes);
		list.data = a->rest.data;
		list.count = a->rest.count;
	}
	err = err ? err : attributes_text(&a->text, &list);
	if (!err)
		filler_text(told->kernel ? &a->kernel : &a->filler, COLUMN_attributes, a->text.data,
			    a->text.count);
	return err;
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
	unsigned int part;
	int err = 0;

	if (told->measured && !told->kernel && !a->layout.first_part)
		err = parts_add(a, e);
	if (err)
		return err;
	err = attributes_set(a, span, told);
	err = err ? err : rest_text(&a->text, span);
	if (err)
		return error_set(e, err, "cannot store a span");
	plain_set(r, span);
	filler_number(r, COLUMN_resource, a->resource);
	filler_number(r, COLUMN_scope, a->scope);
	filler_text(r, COLUMN_rest, a->text.data, a->text.count);
	filler_number(r, COLUMN_version, told->version);
	part = told->kernel ? 0 : a->layout.first_part;
	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT && part; i++)
		filler_number(r, part + i, (uint64_t)told->time.ns[i]);
	return filler_next(r, e);
}

int appending_text(struct appending *a, uint64_t number, const struct bytes *text, struct error *e)
{
	/* few transactions have new texts */
	int err = a->texts.appender ? 0 : filler_begin(&a->texts, a->db, a->connection, &texts, e);

	if (err)
		return err;
	filler_number(&a->texts, 0, number);
	filler_text(&a->texts, 1, text->data, text->count);
	return filler_next(&a->texts, e);
}

void appending_forget(struct appending *a)
{
	a->resource_of = NULL;
	a->scope_of = NULL;
}

int appending_flush(struct appending *a, struct error *e)
{
	int err = a->texts.appender ? filler_flush(&a->texts, e) : 0;

	err = err ? err : filler_flush(&a->filler, e);
	return err ? err : filler_flush(&a->kernel, e);
}

size_t appending_bytes(const struct appending *a)
{
	return a->filler.bytes + a->kernel.bytes + a->texts.bytes;
}

void appending_end(struct appending *a)
{
	filler_end(&a->filler);
	filler_end(&a->kernel);
	filler_end(&a->texts);
	typed_learning_free(&a->learning);
	vec_free(&a->rest);
	bytes_free(&a->text);
	*a = (struct appending){0};
}
