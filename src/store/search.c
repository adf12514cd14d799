/* SPDX-License-Identifier: Apache-2.0 */
/* A search as a value becomes SQL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "span/attributes.h"
#include "store/internal.h"

#define TAG_FOUND                                                                                  \
	" OR contains(attributes, ?) OR resource IN (SELECT id FROM texts WHERE contains(text, "   \
	"?))"

static int bytes_append(void *arg, const char *data, size_t bytes)
{
	bytes_put(arg, data, bytes);
	return 0;
}

/* `"key":value`, as attributes_write_exact() has it, in the pool; NULL: no memory. */
static const char *pair_text(const struct attribute *tag, struct pool *pool, size_t *bytes)
{
	struct bytes text = {0};
	const struct json_sink sink = {bytes_append, &text};
	struct json j;
	char *copy = NULL;

	json_init(&j, &sink);
	attributes_write_exact(&j, NULL, tag, 1);
	if (json_end(&j) == 0 && !text.failed)
		copy = pool_alloc(pool, text.count, 1);
	if (copy) {
		*bytes = text.count - 3; /* without braces and line break */
		memcpy(copy, text.data + 1, *bytes);
	}
	bytes_free(&text);
	return copy;
}

/* A text that is a number or a truth value in JSON finds those, too. */
static bool is_bare_value(const char *text)
{
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return true;
	return *text && strlen(text) < 32 && text[strspn(text, "-+.0123456789e")] == '\0';
}

static int pattern_add(struct statement *s, const char *pair, size_t bytes, struct pool *pool,
		       char behind)
{
	char *pattern = pool_alloc(pool, bytes + 1, 1);

	if (!pattern)
		return -ENOMEM;
	memcpy(pattern, pair, bytes);
	pattern[bytes] = behind;
	statement_add(s, TAG_FOUND);
	statement_bind_text(s, pattern, bytes + 1);
	statement_bind_text(s, pattern, bytes + 1);
	return 0;
}

/* A number ends at what is behind it; a string ends at its quote. */
static int bare_add(struct statement *s, const char *pair, size_t bytes, struct pool *pool)
{
	int err = pattern_add(s, pair, bytes, pool, ',');

	return err ? err : pattern_add(s, pair, bytes, pool, '}');
}

/* A text of a key in `rest` or in a scope. `sql` has its place. */
static int field_text_add(struct statement *s, const char *sql, const char *key, const char *text,
			  struct pool *pool)
{
	const struct attribute field = {.key = key, .type = VALUE_STRING, .string = text};
	size_t bytes;
	const char *pair = pair_text(&field, pool, &bytes);

	if (!pair)
		return -ENOMEM;
	statement_add(s, sql);
	statement_bind_text(s, pair, bytes);
	return 0;
}

static void field_number_add(struct statement *s, const char *sql, int number)
{
	statement_add(s, sql);
	statement_bind_number(s, (uint64_t)number);
}

/*
 * Tags in which Jaeger and Zipkin show what OTLP has fields for. A text of "error" is that of the
 * status, as in Zipkin.
 */
static int field_condition(struct statement *s, const struct attribute *tag, struct pool *pool)
{
	static const struct {
		const char *tag, *field, *sql;
	} texts[] = {
		{"error", "status", " OR contains(rest, ?)"},
		{"otel.status_description", "status", " OR contains(rest, ?)"},
		{"w3c.tracestate", "trace_state", " OR contains(rest, ?)"},
		{"otel.scope.name", "name",
		 " OR scope IN (SELECT id FROM texts WHERE starts_with(text, concat('{', ?)))"},
		{"otel.scope.version", "version",
		 " OR scope IN (SELECT id FROM texts WHERE contains(text, ?))"},
	};
	bool is_text = tag->type == VALUE_STRING;
	const char *text = is_text ? tag->string : "";
	bool is_true = is_text ? strcmp(text, "true") == 0
			       : tag->type == VALUE_BOOLEAN && tag->integer;
	int err = 0, kind = received_kind_parse(text);

	if (strcmp(tag->key, "span.kind") == 0 && kind > RECEIVED_UNSPECIFIED)
		field_number_add(s, " OR kind = ?", kind);
	if ((strcmp(tag->key, "error") == 0 && is_true) ||
	    (strcmp(tag->key, "otel.status_code") == 0 && strcmp(text, "ERROR") == 0))
		field_number_add(s, " OR status = ?", RECEIVED_ERROR);
	if (strcmp(tag->key, "otel.status_code") == 0 && strcmp(text, "OK") == 0)
		field_number_add(s, " OR status = ?", RECEIVED_OK);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && *text && !err; i++) {
		if (strcmp(tag->key, texts[i].tag) == 0)
			err = field_text_add(s, texts[i].sql, texts[i].field, text, pool);
	}
	return err;
}

static int tag_condition(struct statement *s, const struct attribute *tag, struct pool *pool)
{
	size_t bytes;
	const char *pair = pair_text(tag, pool, &bytes);
	int err;

	if (!pair)
		return -ENOMEM;
	statement_add(s, "false");
	err = field_condition(s, tag, pool);
	if (err)
		return err;
	if (tag->type != VALUE_STRING) {
		err = bare_add(s, pair, bytes, pool);
	} else {
		statement_add(s, TAG_FOUND);
		statement_bind_text(s, pair, bytes);
		statement_bind_text(s, pair, bytes);
		if (is_bare_value(tag->string)) {
			size_t value = strlen(tag->string), key = bytes - value - 2;
			char *bare = pool_alloc(pool, key + value, 1);

			if (!bare)
				return -ENOMEM;
			memcpy(bare, pair, key);
			memcpy(bare + key, tag->string, value);
			err = bare_add(s, bare, key + value, pool);
		}
	}
	return err;
}

/* A key of an attribute, or the name of an event. */
static int mark_condition(struct statement *s, const char *mark, struct pool *pool)
{
	const struct attribute key = {.key = mark, .type = VALUE_STRING, .string = ""};
	const struct attribute name = {.key = "name", .type = VALUE_STRING, .string = mark};
	size_t key_bytes, name_bytes;
	const char *key_text = pair_text(&key, pool, &key_bytes);
	const char *name_text = pair_text(&name, pool, &name_bytes);

	if (!key_text || !name_text)
		return -ENOMEM;
	statement_add(s, "contains(attributes, ?) OR contains(rest, ?)");
	statement_bind_text(s, key_text, key_bytes - 2); /* without its value */
	statement_bind_text(s, name_text, name_bytes);
	return 0;
}

static int remote_condition(struct statement *s, const char *remote, struct pool *pool)
{
	const struct attribute tag = {
		.key = "peer.service", .type = VALUE_STRING, .string = remote};
	size_t bytes;
	const char *text = pair_text(&tag, pool, &bytes);

	if (!text)
		return -ENOMEM;
	statement_add(s, "contains(lower(attributes), lower(?))");
	statement_bind_text(s, text, bytes);
	return 0;
}

static void duration_condition(struct statement *s, const struct store_query *q)
{
	statement_add(s, "true");
	number_condition(s, " AND duration_ns >= ?", q->duration_from_ns);
	number_condition(s, " AND duration_ns <= ?", q->duration_to_ns);
}

/* The conditions that a span meets, or, if the search is loose, some span for each of them. */
static int conditions_build(struct statement *s, const struct store_query *q, struct pool *pool)
{
	const char *begin = q->is_loose ? " AND bool_or(" : " AND (";
	int err = 0;

	if (q->operation) {
		statement_add(s, begin);
		text_condition(s, q->is_loose ? "lower(name) = lower(?))" : "name = ?)",
			       q->operation);
	}
	if (q->kind >= 0) {
		statement_add(s, begin);
		statement_add(s, "kind = ?)");
		statement_bind_number(s, (uint64_t)q->kind);
	}
	if (q->is_error) {
		statement_add(s, begin);
		statement_add(s, "status = ?)");
		statement_bind_number(s, RECEIVED_ERROR);
	}
	statement_add(s, begin);
	duration_condition(s, q);
	statement_add(s, ")");
	if (q->remote) {
		statement_add(s, begin);
		err = remote_condition(s, q->remote, pool);
		statement_add(s, ")");
	}
	for (size_t i = 0; i < q->tags_count && !err; i++) {
		statement_add(s, begin);
		err = tag_condition(s, &q->tags[i], pool);
		statement_add(s, ")");
	}
	for (size_t i = 0; i < q->marks_count && !err; i++) {
		statement_add(s, begin);
		err = mark_condition(s, q->marks[i], pool);
		statement_add(s, ")");
	}
	return err;
}

static void causes_build(struct statement *s, const struct store_query *q)
{
	for (size_t i = 0; i < q->causes_count; i++) {
		const struct store_cause *cause = &q->causes[i];
		const char *part = split_part_name(cause->part);
		const char *begin = q->is_loose ? " AND bool_or(true" : " AND (true";

		statement_add(s, begin);
		if (cause->from_ns) {
			statement_add(s, " AND ");
			statement_add(s, part);
			number_condition(s, "_ns >= ?", cause->from_ns);
		}
		if (cause->to_ns) {
			statement_add(s, " AND ");
			statement_add(s, part);
			number_condition(s, "_ns <= ?", cause->to_ns);
		}
		statement_add(s, ")");
	}
}

static void key_add(struct statement *s, const struct store_query *q)
{
	if (q->sort == STORE_SORT_PART) {
		statement_add(s, split_part_name(q->sort_part));
		statement_add(s, "_ns");
	} else {
		statement_add(s, q->sort == STORE_SORT_DURATION ? "duration_ns" : "begin_ns");
	}
}

static void after_add(struct statement *s, const struct store_mark *after)
{
	if (!after)
		return;
	statement_add(s, " AND (value < ? OR (value = ? AND trace > ?))");
	statement_bind_number(s, after->value);
	statement_bind_number(s, after->value);
	statement_bind_id(s, after->id);
}

/*
 * Spans in their highest version of the file. Received spans have none, so where there are only
 * those this costs nothing.
 */
#define NEWEST                                                                                     \
	"(SELECT s.* FROM spans s ANTI JOIN"                                                       \
	" (SELECT trace, span, version, true AS versioned FROM spans WHERE version > 0) n"         \
	" ON s.trace = n.trace AND s.span = n.span AND (s.version > 0) = n.versioned"              \
	" AND s.version < n.version)"

int search_build(struct statement *s, const struct store_query *q, struct pool *pool)
{
	int err;

	statement_add(s, "SELECT trace, max(");
	key_add(s, q);
	statement_add(s, ") AS value FROM " NEWEST " WHERE true");
	text_condition(s, q->is_loose ? " AND lower(service) = lower(?)" : " AND service = ?",
		       q->service);
	number_condition(s, " AND begin_ns >= ?", q->begin_from_ns);
	number_condition(s, " AND begin_ns <= ?", q->begin_to_ns);
	if (q->is_loose)
		statement_add(s, " GROUP BY trace HAVING true");
	err = conditions_build(s, q, pool);
	causes_build(s, q);
	if (!q->is_loose)
		statement_add(s, " GROUP BY trace HAVING true");
	after_add(s, q->after);
	statement_add(s, " ORDER BY value DESC, trace LIMIT ?");
	statement_bind_number(s, q->limit);
	return err;
}

/* Traces of all files that were looked at. */
struct searching {
	const struct store_query *query;
	struct store_marks *out;
	size_t before; /* that were in `out` */
};

static int mark_take(void *arg, const struct row *row)
{
	struct searching *s = arg;
	struct store_mark mark = {row_number(row, 1), row_id(row, 0)};

	return vec_push(s->out, mark);
}

static int mark_compare(const void *a, const void *b)
{
	const struct store_mark *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->id.high != y->id.high)
		return x->id.high > y->id.high ? 1 : -1;
	return (x->id.low > y->id.low) - (x->id.low < y->id.low);
}

/* Sorts what was found, leaves each trace once, and no more than asked for. */
static int marks_settle(struct searching *s)
{
	struct store_marks *out = s->out;
	struct bytes_map seen = {0};
	size_t kept = s->before;
	int err = 0;

	if (out->count > s->before)
		qsort(out->data + s->before, out->count - s->before, sizeof(*out->data),
		      mark_compare);
	for (size_t i = s->before; i < out->count && kept - s->before < s->query->limit && !err;
	     i++) {
		struct store_mark mark = out->data[i];

		if (bytes_map_get(&seen, &mark.id, sizeof(mark.id)))
			continue;
		err = bytes_map_put(&seen, &mark.id, sizeof(mark.id), PRESENT);
		out->data[kept++] = mark;
	}
	out->count = kept;
	bytes_map_free(&seen);
	return err;
}

static int file_search(struct searching *searching, const struct asking *a,
		       const struct store_file *f, struct error *e)
{
	const struct row_taker taker = {mark_take, searching, 2};
	struct statement s = {0};
	struct pool pool = {0};
	size_t before = searching->out->count;
	int err = search_build(&s, searching->query, &pool);

	if (err)
		error_set(e, err, "cannot search");
	err = err ? err : store_file_use(f, &a->store->db, a->connection, e);
	err = err ? err : statement_run(&a->store->db, a->connection, &s, &taker, e);
	statement_free(&s);
	pool_free(&pool);
	if (err)
		searching->out->count = before;
	return err ? err : marks_settle(searching);
}

static bool file_is_in(const struct store_file *f, const struct store_query *q)
{
	uint64_t least_ns = __atomic_load_n(&f->least_ns, __ATOMIC_RELAXED);
	uint64_t greatest_ns = __atomic_load_n(&f->greatest_ns, __ATOMIC_RELAXED);

	return !f->is_lost && least_ns <= greatest_ns && q->begin_from_ns <= greatest_ns &&
	       (!q->begin_to_ns || q->begin_to_ns >= least_ns);
}

/* Whether no span of the files before `end` can be among those that are asked for. */
static bool is_done(const struct searching *searching, const struct store *s, size_t end)
{
	size_t limit = searching->query->limit, count = searching->out->count - searching->before;

	if (!limit || searching->query->sort != STORE_SORT_TIME || count < limit)
		return !limit;
	for (size_t i = 0; i < end; i++) {
		if (s->files.data[i].greatest_ns >=
		    searching->out->data[searching->out->count - 1].value)
			return false;
	}
	return true;
}

int store_search_marks(struct store *s, const struct store_query *query, struct store_marks *out,
		       struct error *e)
{
	struct searching searching = {.query = query, .out = out, .before = out->count};
	struct asking asking;
	int err = asking_begin(&asking, s, e);

	for (size_t i = s->files.count; i-- && !err && !is_done(&searching, s, i + 1);) {
		if (file_is_in(&s->files.data[i], query))
			err = file_search(&searching, &asking, &s->files.data[i], e);
	}
	err = asking_end(&asking, err, e);
	out->is_partial = err == -ETIMEDOUT; /* the cause says so all the same */
	if (out->is_partial)
		return 0;
	if (err)
		out->count = searching.before;
	return err;
}

int store_search(struct store *s, const struct store_query *query, struct store_ids *out,
		 struct error *e)
{
	struct store_marks marks = {0};
	size_t before = out->count;
	int err = store_search_marks(s, query, &marks, e);

	if (marks.is_partial)
		err = -ETIMEDOUT; /* with its cause */
	for (size_t i = 0; i < marks.count && !err; i++) {
		err = vec_push(out, marks.data[i].id);
		if (err)
			error_set(e, err, "cannot search");
	}
	if (err)
		out->count = before;
	vec_free(&marks);
	return err;
}
