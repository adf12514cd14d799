/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the spans of traces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/columns.h"
#include "store/internal.h"
#include "store/typed_read.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* Resources and scopes that spans of a file share. Their texts are read when all are known. */
struct shared {
	uint64_t text; /* its number */
	struct received_resource resource;
	struct received_scope scope;
};

struct finding {
	bool kernel;		       /* looks for kernel spans */
	uint64_t begin_from_ns;	       /* as in struct store_finding */
	const struct store_file *file; /* of which spans are found now */
	struct typed_reading typed;    /* of the file */
	struct pool *pool;
	const struct asking *asking;
	struct received_batch *out;
	const struct store_brief *brief; /* as in struct store_finding */
	struct map told;		 /* by a hash of their ids: a set */
	struct pool told_pool;		 /* of the one that is told */
	uint64_t rank, least_ns;	 /* of store_kernel_least() */
	struct store_ids ids;		 /* of traces of which the file may have spans */
	struct bytes_map resources;	 /* struct shared by number and service */
	struct map scopes;		 /* struct shared by number */
	VEC(struct shared *) shared;	 /* all of these */
	struct map texts;		 /* struct stored_text by their numbers */
	struct bytes_map seen;		 /* what tells the spans of `out` apart */
	struct bytes key;
};

static int text_take(void *arg, const struct row *row)
{
	struct finding *f = arg;
	struct stored_text text = row_stored(row, 1), *kept = pool_alloc(f->pool, 1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	*kept = (struct stored_text){text_keep(f->pool, text), text.bytes};
	return kept->data ? map_put(&f->texts, row_number(row, 0), kept) : -ENOMEM;
}

/* The text with a number, which was stored together with its first span. */
static struct stored_text text_of(const struct finding *f, uint64_t number)
{
	const struct stored_text *text = map_get(&f->texts, number);

	return text ? *text : (struct stored_text){"", 0};
}

static struct shared *shared_make(struct finding *f, uint64_t number)
{
	struct shared *shared = pool_alloc(f->pool, 1, sizeof(*shared));

	if (!shared || vec_push(&f->shared, shared))
		return NULL;
	shared->text = number;
	return shared;
}

/* Spans with the same resource point to the same one. */
static int resource_take(struct finding *f, const struct row *row,
			 const struct received_resource **out)
{
	struct stored_text service = row_stored(row, COLUMN_service);
	struct shared *shared;
	int err = 0;

	f->key.count = 0;
	bytes_put_u64(&f->key, row_number(row, COLUMN_resource));
	bytes_put(&f->key, service.data, service.bytes);
	if (f->key.failed)
		return -ENOMEM;
	shared = bytes_map_get(&f->resources, f->key.data, f->key.count);
	if (!shared) {
		shared = shared_make(f, row_number(row, COLUMN_resource));
		if (!shared)
			return -ENOMEM;
		shared->resource.service = text_keep(f->pool, service);
		err = shared->resource.service
			      ? bytes_map_put(&f->resources, f->key.data, f->key.count, shared)
			      : -ENOMEM;
	}
	*out = &shared->resource;
	return err;
}

static int scope_take(struct finding *f, const struct row *row, const struct received_scope **out)
{
	uint64_t number = row_number(row, COLUMN_scope);
	struct shared *shared = map_get(&f->scopes, number);
	int err = 0;

	if (!shared) {
		shared = shared_make(f, number);
		if (!shared)
			return -ENOMEM;
		err = map_put(&f->scopes, number, shared);
	}
	*out = &shared->scope;
	return err;
}

/*
 * What tells spans apart. The two sides of a call may have one id, which Zipkin calls shared: they
 * differ in their kind, service or begin. Those with a version have one id for all versions.
 */
static int key_make(struct finding *f, const struct row *row, const struct received_span *span,
		    uint64_t version)
{
	struct stored_text service = row_stored(row, COLUMN_service);

	f->key.count = 0;
	bytes_put_u64(&f->key, span->trace.high);
	bytes_put_u64(&f->key, span->trace.low);
	bytes_put_u64(&f->key, span->span_id);
	if (!version) {
		bytes_put_u64(&f->key, span->begin_ns);
		bytes_put_u8(&f->key, span->kind);
		bytes_put(&f->key, service.data, service.bytes);
	}
	return f->key.failed ? -ENOMEM : 0;
}

struct seen {
	uint64_t version;
	size_t place; /* in the batch */
};

/* Gives the span a place in the batch. 1: it has one; 0: the span is there in this version. */
static int place_find(struct finding *f, const struct row *row, const struct received_span *span,
		      struct seen **out)
{
	uint64_t version = row_number(row, COLUMN_version);
	int err = key_make(f, row, span, version);
	struct seen *seen = err ? NULL : bytes_map_get(&f->seen, f->key.data, f->key.count);

	if (err || (seen && seen->version >= version))
		return err;
	if (!seen) {
		seen = pool_alloc(f->pool, 1, sizeof(*seen));
		if (!seen)
			return -ENOMEM;
		seen->place = f->out->count;
		err = bytes_map_put(&f->seen, f->key.data, f->key.count, seen);
		err = err ? err : vec_push(f->out, *span);
	}
	seen->version = version;
	*out = seen;
	return err ? err : 1;
}

static uint64_t ids_hash(const struct received_span *span)
{
	return hash_u64(span->span_id ^ hash_u64(span->trace.low ^ hash_u64(span->trace.high)));
}

/* Tells of a kernel span of which nothing is kept. */
static int span_tell(struct finding *f, const struct row *row, struct received_span *span)
{
	uint64_t hash = ids_hash(span);
	int err;

	if (map_get(&f->told, hash))
		return 0;
	pool_reset(&f->told_pool);
	span->end_ns = span->begin_ns + row_number(row, COLUMN_duration_ns);
	span->name = text_keep(&f->told_pool, row_stored(row, COLUMN_name));
	span->trace_state = span->status_text = "";
	err = span->name ? map_put(&f->told, hash, PRESENT) : -ENOMEM;
	err = err ? err : resource_take(f, row, &span->resource);
	err = err ? err : scope_take(f, row, &span->scope);
	err = err ? err
		  : thread_text_read(row_stored(row, COLUMN_attributes), &f->told_pool,
				     &span->attributes);
	return err ? err : f->brief->tell(f->brief->arg, span);
}

static bool is_brief(const struct finding *f, const struct row *row)
{
	return f->brief && row_number(row, COLUMN_duration_ns) < f->brief->least_ns;
}

static int span_take(void *arg, const struct row *row)
{
	struct finding *f = arg;
	struct received_span span = {.trace = row_id(row, COLUMN_trace),
				     .span_id = row_number(row, COLUMN_span),
				     .parent_id = row_number(row, COLUMN_parent),
				     .begin_ns = row_number(row, COLUMN_begin_ns),
				     .kind = row_small(row, COLUMN_kind),
				     .status = row_small(row, COLUMN_status)};
	struct seen *seen;
	int err = 0;

	if (asking_is_over(f->asking))
		return -ETIMEDOUT;
	if (is_brief(f, row))
		return span_tell(f, row, &span);
	err = place_find(f, row, &span, &seen);
	if (err <= 0)
		return err;
	span.end_ns = span.begin_ns + row_number(row, COLUMN_duration_ns);
	span.name = text_keep(f->pool, row_stored(row, COLUMN_name));
	err = span.name ? resource_take(f, row, &span.resource) : -ENOMEM;
	err = err ? err : scope_take(f, row, &span.scope);
	err = err ? err
		  : attributes_text_read(row_stored(row, COLUMN_attributes), f->pool,
					 &span.attributes);
	err = err ? err : typed_read(&f->typed, row, COLUMN_FIRST_PART, &span.attributes);
	err = err ? err : rest_text_read(row_stored(row, COLUMN_rest), f->pool, &span);
	if (!err)
		f->out->data[seen->place] = span;
	return err;
}

static void ids_add(struct statement *s, const struct store_ids *ids)
{
	for (size_t i = 0; i < ids->count; i++) {
		statement_add(s, i ? ", ?" : "?");
		statement_bind_id(s, ids->data[i]);
	}
	statement_add(s, ")");
}

/* The name of a table of the file. It is said with each, since USE takes time of its own. */
static void table_add(struct statement *s, const struct finding *f, const char *table)
{
	char name[FILE_NAME_BYTES];

	store_file_name(name, f->file);
	statement_add(s, name);
	statement_add(s, ".");
	statement_add(s, table);
}

/* Reads the texts of resources and scopes, whose numbers are those of the file. */
static int texts_find(struct finding *f, const struct asking *a, struct error *e)
{
	const struct row_taker taker = {text_take, f, 2};
	struct statement s = {0};
	int err = 0;

	statement_add(&s, "SELECT id, text FROM ");
	table_add(&s, f, "texts");
	statement_add(&s, " WHERE id IN (");
	for (size_t i = 0; i < f->shared.count; i++) {
		statement_add(&s, i ? ", ?" : "?");
		statement_bind_number(&s, f->shared.data[i]->text);
	}
	statement_add(&s, ")");
	if (f->shared.count)
		err = statement_ask(&a->store->db, a->connection, &s, &taker, e);
	statement_free(&s);
	for (size_t i = 0; i < f->shared.count && !err; i++) {
		struct shared *shared = f->shared.data[i];
		struct stored_text text = text_of(f, shared->text);

		err = shared->resource.service
			      ? resource_text_read(text, f->pool, &shared->resource)
			      : scope_text_read(text, f->pool, &shared->scope);
		if (err)
			error_set(e, err, "cannot take what the store found");
	}
	return err;
}

/* FROM the table, and which rows of it. */
static void rows_add(struct statement *s, const struct finding *f)
{
	statement_add(s, " FROM ");
	table_add(s, f, f->kernel ? "kernel" : "spans");
	statement_add(s, " WHERE trace IN (");
	ids_add(s, &f->ids);
	if (!f->brief)
		return;
	statement_add(s, " AND begin_ns < ?");
	statement_bind_number(s, f->brief->to_ns);
	/* no sum of two times, which could be too large */
	statement_add(s, " AND greatest(begin_ns, ?) - begin_ns <= duration_ns");
	statement_bind_number(s, f->brief->from_ns);
}

static int spans_find(struct finding *f, const struct asking *a, struct error *e)
{
	struct row_taker taker = {.take = span_take, .arg = f};
	struct statement s = {0};
	int err;

	statement_add(&s, "SELECT " SPAN_COLUMN_NAMES);
	typed_columns_add(&s, &f->typed);
	taker.columns = COLUMN_FIRST_PART + f->typed.texts + f->typed.numbers;
	rows_add(&s, f);
	if (f->begin_from_ns) {
		/* ids have no order, but spans are stored by time: DuckDB skips those before */
		statement_add(&s, " AND begin_ns >= ?");
		statement_bind_number(&s, f->begin_from_ns);
	}
	if (f->kernel && !f->brief)
		statement_add(&s,
			      " ORDER BY duration_ns DESC, begin_ns LIMIT " TEXT(STORE_KERNEL_MAX));
	if (f->brief)
		err = statement_stream(&a->store->db, a->connection, &s, &taker, e);
	else
		err = statement_ask(&a->store->db, a->connection, &s, &taker, e);
	statement_free(&s);
	return !err && f->brief && asking_is_over(a) ? -ETIMEDOUT : err;
}

/* What is of one file alone. */
static void shared_forget(struct finding *f)
{
	map_free(&f->texts);
	bytes_map_free(&f->resources);
	map_free(&f->scopes);
	f->shared.count = 0;
}

static void finding_end(struct finding *f)
{
	shared_forget(f);
	vec_free(&f->shared);
	vec_free(&f->ids);
	bytes_map_free(&f->seen);
	map_free(&f->told);
	pool_free(&f->told_pool);
	bytes_free(&f->key);
}

static int number_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By their begins; of two that begin together, the longer one is first. */
static int span_compare(const void *a, const void *b)
{
	const struct received_span *x = a, *y = b;
	int order = number_compare(x->begin_ns, y->begin_ns);

	order = order ? order : number_compare(received_duration_ns(y), received_duration_ns(x));
	order = order ? order : number_compare(x->span_id, y->span_id);
	return order ? order : x->shared - y->shared;
}

static int file_find(struct finding *f, const struct asking *a, const struct store_file *file,
		     const struct store_ids *ids, struct error *e)
{
	int err = asking_choose(a, file, ids, &f->ids);

	if (err || !f->ids.count)
		return err ? error_set(e, err, "cannot ask the store") : 0;
	f->file = file;
	shared_forget(f);
	f->typed = (struct typed_reading){.pool = f->pool};
	if (!f->kernel && file->version >= FILE_VERSION_TYPED)
		f->typed.typed = &file->typed;
	/* a span is stored together with its texts, or after them */
	err = spans_find(f, a, e);
	return err ? err : texts_find(f, a, e);
}

/* 1: the bytes of a file are wrong, and it is left out from now on. */
static int all_find(struct finding *f, struct asking *a, const struct store_ids *ids,
		    struct error *e)
{
	for (size_t i = 0; i < a->files.count; i++) {
		struct store_file *file = a->files.data[i];
		int err = file->is_lost ? 0 : file_find(f, a, file, ids, e);

		if (err)
			return asking_go_on(a, file, err, e) ? err : 1;
	}
	return 0;
}

static int find(struct store *s, struct finding *finding, const struct store_finding *what,
		struct error *e)
{
	struct received_batch *out = finding->out;
	const struct store_ids *ids = what->ids;
	const struct asked asked = {
		.ids = ids, .with_kernel = what->kernel, .until_ns = what->until_ns};
	size_t before = out->count;
	struct asking asking;
	int err;

	if (!ids->count)
		return 0;
	err = asking_begin_for(&asking, s, &asked, e);
	finding->asking = &asking;
	while (!err && (err = all_find(finding, &asking, ids, e)) > 0) {
		bytes_map_free(&finding->seen); /* of what came of that file, some is half */
		out->count = before;
		err = 0;
	}
	err = asking_end(&asking, err, e);
	finding_end(finding);
	if (err)
		out->count = before;
	else if (out->count > before)
		qsort(out->data + before, out->count - before, sizeof(*out->data), span_compare);
	return err;
}

int store_find_until(struct store *s, const struct store_finding *what, struct pool *pool,
		     struct received_batch *out, struct error *e)
{
	struct finding finding = {.kernel = what->kernel,
				  .begin_from_ns = what->begin_from_ns,
				  .brief = what->brief,
				  .pool = pool,
				  .out = out};

	return find(s, &finding, what, e);
}

static int duration_take(void *arg, const struct row *row)
{
	struct finding *f = arg;
	uint64_t duration_ns = row_number(row, 0);

	if (duration_ns >= f->least_ns)
		f->least_ns = duration_ns + 1;
	return 0;
}

/* Looks in a file for the longest of the kernel spans that are too many. */
static int duration_find(struct finding *f, const struct asking *a, struct error *e)
{
	const struct row_taker taker = {duration_take, f, 1};
	struct statement s = {0};
	int err;

	statement_add(&s, "SELECT duration_ns");
	rows_add(&s, f);
	statement_add(&s, " ORDER BY duration_ns DESC LIMIT 1 OFFSET ?");
	statement_bind_number(&s, f->rank);
	err = statement_ask(&a->store->db, a->connection, &s, &taker, e);
	statement_free(&s);
	return err;
}

int store_kernel_least(struct store *s, const struct store_finding *what, uint64_t count,
		       uint64_t *least_ns, struct error *e)
{
	struct finding f = {.kernel = true, .brief = what->brief, .rank = count};
	const struct asked asked = {
		.ids = what->ids, .with_kernel = true, .until_ns = what->until_ns};
	struct asking asking;
	int err;

	*least_ns = 0;
	if (!what->ids->count)
		return 0;
	err = asking_begin_for(&asking, s, &asked, e);
	for (size_t i = 0; i < asking.files.count && !err; i++) {
		f.file = asking.files.data[i];
		err = asking_choose(&asking, f.file, what->ids, &f.ids);
		if (err)
			error_set(e, err, "cannot ask the store");
		else if (f.ids.count)
			err = asking_go_on(&asking, asking.files.data[i],
					   duration_find(&f, &asking, e), e);
	}
	err = asking_end(&asking, err, e);
	finding_end(&f);
	if (!err)
		*least_ns = f.least_ns;
	return err;
}

int store_find(struct store *s, const struct store_ids *ids, struct pool *pool,
	       struct received_batch *out, struct error *e)
{
	return store_find_until(s, &(struct store_finding){.ids = ids}, pool, out, e);
}

int store_find_kernel(struct store *s, const struct store_ids *ids, struct pool *pool,
		      struct received_batch *out, struct error *e)
{
	return store_find_until(s, &(struct store_finding){.ids = ids, .kernel = true}, pool, out,
				e);
}
