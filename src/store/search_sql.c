/* SPDX-License-Identifier: Apache-2.0 */
/* A search as a value becomes SQL. */
#include "store/internal.h"
#include "store/search_tags.h"

static void duration_condition(struct statement *s, const struct store_query *q)
{
	statement_add(s, "true");
	number_condition(s, " AND duration_ns >= ?", q->duration_from_ns);
	number_condition(s, " AND duration_ns <= ?", q->duration_to_ns);
}

/* The conditions that a span meets, or, if the search is loose, some span for each of them. */
static int conditions_build(struct statement *s, const struct store_query *q,
			    const struct typed *typed, struct pool *pool)
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
		err = remote_condition(s, typed, q->remote, pool);
		statement_add(s, ")");
	}
	for (size_t i = 0; i < q->tags_count && !err; i++) {
		statement_add(s, begin);
		err = tag_condition(s, typed, &q->tags[i], pool);
		statement_add(s, ")");
	}
	for (size_t i = 0; i < q->marks_count && !err; i++) {
		statement_add(s, begin);
		err = mark_condition(s, typed, q->marks[i], pool);
		statement_add(s, ")");
	}
	return err;
}

/* The column of a part of the split. */
static void part_add(struct statement *s, const struct store_file *f, enum split_part part)
{
	bool has_parts = __atomic_load_n(&f->has_parts, __ATOMIC_ACQUIRE);

	statement_add(s, has_parts ? split_part_name(part) : "0::UBIGINT");
	statement_add(s, has_parts ? "_ns" : "");
}

static void causes_build(struct statement *s, const struct store_query *q,
			 const struct store_file *f)
{
	for (size_t i = 0; i < q->causes_count; i++) {
		const struct store_cause *cause = &q->causes[i];
		const char *begin = q->is_loose ? " AND bool_or(true" : " AND (true";

		statement_add(s, begin);
		if (cause->from_ns) {
			statement_add(s, " AND ");
			part_add(s, f, cause->part);
			number_condition(s, " >= ?", cause->from_ns);
		}
		if (cause->to_ns) {
			statement_add(s, " AND ");
			part_add(s, f, cause->part);
			number_condition(s, " <= ?", cause->to_ns);
		}
		statement_add(s, ")");
	}
}

static void key_add(struct statement *s, const struct store_query *q, const struct store_file *f)
{
	if (q->sort == STORE_SORT_PART)
		part_add(s, f, q->sort_part);
	else
		statement_add(s, q->sort == STORE_SORT_DURATION ? "duration_ns" : "begin_ns");
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
 * The spans of `s` in their highest version of the file, without those that a row of the table
 * `newer` replaces. Files up to version 5 have no such table: their spans tell it. Received spans
 * have no version.
 */
#define NEWEST(of)                                                                                 \
	" s ANTI JOIN (SELECT trace, span, version, true AS versioned FROM " of ") n"              \
	" ON s.trace = n.trace AND s.span = n.span AND (s.version > 0) = n.versioned"              \
	" AND s.version < n.version"

static const char *newest_of(const struct store_file *f)
{
	if (f->version < FILE_VERSION_TYPED)
		return NEWEST("spans WHERE version > 0");
	return __atomic_load_n(&f->newer, __ATOMIC_RELAXED) ? NEWEST("newer") : " s";
}

bool search_has_first(const struct store_query *q)
{
	return !q->is_loose && !q->after;
}

/*
 * Whether a search passes over spans of which only the context was seen: they have no name, and a
 * list of requests is of those that were told. But they have the split of the received span with
 * their ids, and attributes of it.
 */
static bool passes_contexts(const struct store_query *q)
{
	return !q->operation && !q->causes_count && !q->tags_count && !q->marks_count &&
	       q->sort != STORE_SORT_PART;
}

/* The conditions of the spans, which are those of `s`. */
static int where_build(struct statement *s, const struct store_query *q, const struct store_file *f,
		       struct pool *pool)
{
	int err;

	statement_add(s, " WHERE true");
	text_condition(s, q->is_loose ? " AND lower(service) = lower(?)" : " AND service = ?",
		       q->service);
	number_condition(s, " AND begin_ns >= ?", q->begin_from_ns);
	number_condition(s, " AND begin_ns <= ?", q->begin_to_ns);
	if (passes_contexts(q))
		statement_add(s, " AND (version = 0 OR name <> '" STORE_CONTEXT_NAME "')");
	if (q->is_loose)
		statement_add(s, " GROUP BY trace HAVING true");
	err = conditions_build(s, q, &f->typed, pool);
	causes_build(s, q, f);
	return err;
}

/* The first spans that meet the conditions, and then which of them are the highest versions. */
static int first_build(struct statement *s, const struct store_query *q, const struct store_file *f,
		       uint64_t spans_max, struct pool *pool)
{
	int err;

	statement_add(s, "WITH first AS MATERIALIZED (SELECT trace, span, version, ");
	key_add(s, q, f);
	statement_add(s, " AS value FROM spans s");
	err = where_build(s, q, f, pool);
	statement_add(s, " ORDER BY value DESC, trace LIMIT ?), found AS (SELECT s.* FROM first");
	statement_bind_number(s, spans_max);
	statement_add(s, newest_of(f));
	statement_add(s, ") SELECT trace, max(value) AS value,"
			 " (SELECT count(*) FROM first)::UBIGINT FROM found GROUP BY trace");
	return err;
}

static int all_build(struct statement *s, const struct store_query *q, const struct store_file *f,
		     struct pool *pool)
{
	int err;

	statement_add(s, "SELECT trace, value, 0::UBIGINT FROM (SELECT trace, max(");
	key_add(s, q, f);
	statement_add(s, ") AS value FROM (SELECT s.* FROM spans");
	statement_add(s, newest_of(f));
	statement_add(s, ")");
	err = where_build(s, q, f, pool);
	statement_add(s, q->is_loose ? ") WHERE true" : " GROUP BY trace) WHERE true");
	after_add(s, q->after);
	return err;
}

int search_build(struct statement *s, const struct store_query *q, const struct store_file *f,
		 uint64_t spans_max, struct pool *pool)
{
	int err = spans_max ? first_build(s, q, f, spans_max, pool) : all_build(s, q, f, pool);

	statement_add(s, " ORDER BY value DESC, trace LIMIT ?");
	statement_bind_number(s, q->limit);
	return err;
}
