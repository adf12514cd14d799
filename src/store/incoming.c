/* SPDX-License-Identifier: Apache-2.0 */
/* Spans on their way into the transaction. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/columns.h"
#include "store/internal.h"

#define KNOWN_ROWS 1000000u		/* of a file, that are read after opening */
#define KNOWN_ALL_ROWS (4 * KNOWN_ROWS) /* about so many are enough, of all files */
#define KNOWN_NS UINT64_C(900000000000) /* so long ago came the first of them */

static int out_of_memory(struct error *e)
{
	return error_set(e, ENOMEM, "cannot store a span");
}

/* Takes what an older version added out of the sums. */
static int old_take_out(struct store *s, const struct known_version *old)
{
	const struct told told = {
		.measured = old->measured, .time = old->time, .stands_for = old->stands_for};
	const struct received_span span = {.begin_ns = old->begin_ns,
					   .end_ns = old->begin_ns + old->duration_ns,
					   .status = old->is_error ? RECEIVED_ERROR : 0};

	__atomic_fetch_add(&s->replaced, 1, __ATOMIC_RELAXED);
	return span_sums_add(&s->sums, &span, &told, old->operation, -1);
}

/* Adds the span to the sums, and remembers what it added if another version may follow. */
static int sums_update(struct store *s, const struct received_span *span, const struct told *told,
		       uint64_t operation, const struct known_version *old)
{
	int err = old ? old_take_out(s, old) : 0;

	err = err ? err : span_sums_add(&s->sums, span, told, operation, 1);
	if (!err && told->version)
		err = known_version_put(&s->known, span, told, operation);
	return err;
}

/* What the file has to say of its spans. */
static void span_count(struct store *s, const struct received_span *span)
{
	trace_filter_add(&files_newest(s)->filter, span->trace);
	if (span->begin_ns < s->least_ns)
		s->least_ns = span->begin_ns;
	if (span->begin_ns > s->greatest_ns)
		s->greatest_ns = span->begin_ns;
}

/* Kernel spans are in no list and in no sum. A higher version replaces one in answers. */
static int kernel_append(struct store *s, const struct received_span *span, const struct told *told,
			 struct error *e)
{
	int err = texts_add(s, span, e);

	s->fates.data[s->fates.count++] = STORE_KERNEL;
	err = err ? err : appending_add(&s->appending, span, told, e);
	if (err)
		return err;
	span_count(s, span);
	s->kernel++;
	return 0;
}

static int row_append(struct store *s, const struct received_span *span, const struct told *told,
		      struct error *e)
{
	size_t before = appending_bytes(&s->appending);
	int err = texts_add(s, span, e);

	err = err ? err : appending_add(&s->appending, span, told, e);
	if (err)
		return err;
	span_count(s, span);
	if (s->spans % VECTOR_SPANS == 0)
		s->vector_bytes = 0;
	s->vector_bytes += appending_bytes(&s->appending) - before;
	s->spans++;
	return 0;
}

/* Changes the split with which the sums have a received span. */
static int pair_update(struct store *s, struct pair *pair, const struct told *told)
{
	const struct received_span span = {.begin_ns = pair->begin_ns,
					   .end_ns = pair->begin_ns + pair->duration_ns,
					   .status = pair->is_error ? RECEIVED_ERROR : 0};
	int err = span_sums_add(&s->sums, &span, &pair->split->told, pair->operation, -1);

	err = err ? err : span_sums_add(&s->sums, &span, told, pair->operation, 1);
	pair->split->told = *told;
	return err;
}

/* Gives the span in the sums the split of its context, if both are there. */
static int pair_settle(struct store *s, struct pair *pair)
{
	static const struct told nothing;
	struct told told;

	if (!pair->has_span || !pair->has_context)
		return 0;
	told = pair_told(pair);
	return pair_update(s, pair, pair->has_several ? &nothing : &told);
}

/* A span that the sums have without a split. */
static int pair_span(struct store *s, const struct received_span *span, uint64_t operation)
{
	struct pair *pair = pairs_get(&s->pairs, span);

	if (!pair)
		return -ENOMEM;
	if (pair->has_span) {
		pair->has_several = true;
		return pair_settle(s, pair);
	}
	pair->has_span = true;
	pair->operation = operation;
	pair->begin_ns = span->begin_ns;
	pair->duration_ns = received_duration_ns(span);
	pair->is_error = span->status == RECEIVED_ERROR;
	return pair_settle(s, pair);
}

static int pair_context(struct store *s, const struct received_span *span, const struct told *told)
{
	struct pair *pair = pairs_get(&s->pairs, span);

	if (!pair || pair_context_set(pair, told))
		return -ENOMEM;
	s->pairs.is_used = true;
	return pair_settle(s, pair);
}

/*
 * The span itself is received, and is what counts: its context is in no list and in no sum but for
 * the split.
 */
static int context_append(struct store *s, const struct received_span *span,
			  const struct told *told, struct error *e)
{
	int err = row_append(s, span, told, e);

	s->fates.data[s->fates.count - 1] = STORE_CONTEXT;
	if (err)
		return err;
	if (told->version)
		err = known_version_put(&s->known, span, told, 0);
	if (!err && told->measured)
		err = pair_context(s, span, told);
	return err ? out_of_memory(e) : 0;
}

int span_append(struct store *s, const struct received_span *span, struct error *e)
{
	static const uint8_t fates[] = {[KNOWN_NEW] = STORE_ADDED,
					[KNOWN_REPEAT] = STORE_REPEATS,
					[KNOWN_REPLACE] = STORE_REPLACES,
					[KNOWN_UNSURE] = STORE_FOLLOWS};
	const struct told told = told_of(span);
	struct known_version old;
	uint64_t operation;
	bool is_newer;
	int answer, err;

	if (told.kernel)
		return kernel_append(s, span, &told, e);
	is_newer = known_has_older(&s->known, span, &told);
	answer = known_ask(&s->known, span, &told, &old);
	if (answer < 0)
		return out_of_memory(e);
	s->fates.data[s->fates.count++] = fates[answer];
	if (answer == KNOWN_REPEAT) {
		__atomic_fetch_add(&s->repeats, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (is_newer &&
	    vec_push(&s->newer, (struct newer){span->trace, span->span_id, told.version}))
		return out_of_memory(e);
	if (told.is_context)
		return context_append(s, span, &told, e);
	if (told.is_counted) {
		s->fates.data[s->fates.count - 1] = STORE_COUNTED;
		return row_append(s, span, &told, e);
	}
	err = operation_add(s, span, &operation, e);
	err = err ? err : row_append(s, span, &told, e);
	if (err || answer == KNOWN_UNSURE)
		return err;
	err = sums_update(s, span, &told, operation, answer == KNOWN_REPLACE ? &old : NULL);
	if (!err && s->pairs.is_used && !told.version && !told.measured)
		err = pair_span(s, span, operation);
	return err ? out_of_memory(e) : 0;
}

struct calling {
	struct store *store;
	struct error *e;
};

static int call_take(void *arg, const struct known_call *call)
{
	const struct told told = {.stands_for = call->stands_for};
	const struct calling *c = arg;
	const struct received_span span = {.begin_ns = call->begin_ns,
					   .end_ns = call->begin_ns + call->duration_ns,
					   .status = call->is_error ? RECEIVED_ERROR : 0};
	uint64_t number;
	int err = edge_add(c->store, call->parent, call->child, &number, c->e);

	if (err || !number)
		return err;
	return span_sums_add(&c->store->sums, &span, &told, number, 1) ? out_of_memory(c->e) : 0;
}

int calls_append(struct store *s, struct error *e)
{
	struct calling calling = {s, e};
	int err = known_calls(&s->known, call_take, &calling);

	return err == -ENOMEM ? out_of_memory(e) : err;
}

struct knowing {
	struct store *store;
	struct bytes service;
	bool is_newest; /* the file is: its operations have the numbers of the sums */
};

/* Ends with NUL. */
static int text_copy(struct bytes *to, struct stored_text text)
{
	to->count = 0;
	bytes_put(to, text.data, text.bytes);
	bytes_put_u8(to, 0);
	return to->failed ? -ENOMEM : 0;
}

/* Behind the first columns, as known_load() asks for them. */
enum {
	KNOWN_SHARED = COLUMN_attributes,
	KNOWN_VERSION,
	KNOWN_CONTEXT,
	KNOWN_FIRST_PART,
};

static int known_take(void *arg, const struct row *row)
{
	struct knowing *k = arg;
	int err = text_copy(&k->service, row_stored(row, COLUMN_service));
	struct received_resource resource = {.service = (const char *)k->service.data};
	const struct received_span span = {.trace = row_id(row, COLUMN_trace),
					   .span_id = row_number(row, COLUMN_span),
					   .begin_ns = row_number(row, COLUMN_begin_ns),
					   .end_ns = row_number(row, COLUMN_begin_ns) +
						     row_number(row, COLUMN_duration_ns),
					   .kind = row_small(row, COLUMN_kind),
					   .status = row_small(row, COLUMN_status),
					   .shared = row_small(row, KNOWN_SHARED),
					   .resource = &resource};
	struct told told = {.version = row_number(row, KNOWN_VERSION),
			    .is_context = row_small(row, KNOWN_CONTEXT)};
	struct known_version old;
	uint64_t number = 0;

	if (err)
		return err;
	err = known_ask(&k->store->known, &span, &told, &old);
	if (err < 0 || err == KNOWN_REPEAT || !told.version || !k->is_newest)
		return err < 0 ? err : 0;
	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		told.time.ns[i] = (s64)row_number(row, KNOWN_FIRST_PART + i);
		told.measured |= told.time.ns[i] != 0;
	}
	number = operation_find(k->store, row_stored(row, COLUMN_service),
				row_stored(row, COLUMN_name), span.kind);
	return number || told.is_context ? known_version_put(&k->store->known, &span, &told, number)
					 : 0;
}

static int file_know(struct knowing *knowing, const struct store_file *f, struct error *e)
{
#define P(part, value, what) ", " #part "_ns"
#define NONE(part, value, what) ", 0::UBIGINT"
	struct store *s = knowing->store;
	const struct row_taker taker = {known_take, knowing, KNOWN_FIRST_PART + SPLIT_PARTS_COUNT};
	struct statement ask = {0};
	int err = store_file_use(f, &s->db, s->writer, e);

	knowing->is_newest = f == files_newest(s);
	statement_add(&ask,
		      "SELECT trace, span, parent, begin_ns, duration_ns, service, name, kind,"
		      " status, contains(rest, '\"shared\":1')::UTINYINT, version,"
		      " contains(attributes, '\"fathom.kind\":\"context\"')::UTINYINT");
	statement_add(&ask, f->has_parts ? SPLIT_PARTS(P) : SPLIT_PARTS(NONE));
	statement_add(&ask, " FROM spans WHERE rowid + ? >= (SELECT count(*) FROM spans)");
#undef P
#undef NONE
	statement_bind_number(&ask, KNOWN_ROWS);
	err = err ? err : statement_stream(&s->db, s->writer, &ask, &taker, e);
	statement_free(&ask);
	if (!err)
		known_committed(&s->known);
	return err;
}

static uint64_t known_rows(const struct store_file *f)
{
	return f->spans < KNOWN_ROWS ? f->spans : KNOWN_ROWS;
}

/* The first file of which some spans may repeat. The clock may have been set back since it began.
 */
static size_t known_first(const struct store *s)
{
	uint64_t since_ns = clock_read_ns(CLOCK_REALTIME) - KNOWN_NS;
	size_t first = s->files.count - 1;
	uint64_t rows = known_rows(s->files.data[first]);

	while (first && !s->files.data[first - 1]->is_lost && rows < KNOWN_ALL_ROWS &&
	       s->files.data[first]->created_ns > since_ns)
		rows += known_rows(s->files.data[--first]);
	return first;
}

int known_load(struct store *s, struct store_file **of, struct error *e)
{
	struct knowing knowing = {.store = s};
	int err = 0;

	for (size_t i = known_first(s); i < s->files.count && !err; i++) {
		*of = s->files.data[i];
		err = file_know(&knowing, *of, e);
	}
	bytes_free(&knowing.service);
	vec_free(&s->known.spans); /* a commit has far fewer */
	return err;
}
