/* SPDX-License-Identifier: Apache-2.0 */
/* Search of traces, also by cause: /api/v1/search. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "serve/answer.h"
#include "serve/gather.h"
#include "serve/own.h"
#include "serve/parameters.h"

#define CAUSES_MAX 16
#define TAGS_MAX 16
#define TRACES_MAX 500
#define TRACES 20	/* unless asked for otherwise */
#define FIRST_TRACES 32 /* that are read at once; then twice as many, and so on */
#define TOKEN_DIGITS 48

struct search {
	struct store_query query;
	struct store_cause causes[CAUSES_MAX];
	struct attribute tags[TAGS_MAX];
	struct store_mark after;
	struct pool *pool;
	const char *why; /* it is refused; NULL: it is not */
};

/* "lock > 5ms", with >, >=, < or <=. */
static bool cause_parse(const char *text, struct store_cause *cause)
{
	size_t bytes = strcspn(text, " <>");
	int part = split_part_find(text, bytes);
	bool is_less, is_equal;
	uint64_t ns;

	text += bytes + strspn(text + bytes, " ");
	if (part < 0 || (*text != '<' && *text != '>'))
		return false;
	is_less = *text++ == '<';
	is_equal = *text == '=';
	text += is_equal;
	text += strspn(text, " ");
	if (units_parse_duration(text, &ns) || (is_less && !is_equal && !ns))
		return false;
	*cause = (struct store_cause){.part = (enum split_part)part};
	if (is_less)
		cause->to_ns = ns - !is_equal;
	else
		cause->from_ns = ns + !is_equal;
	return true;
}

static void cause_add(struct search *s, const char *value)
{
	if (s->query.causes_count == CAUSES_MAX)
		s->why = "there are too many causes";
	else if (!cause_parse(value, &s->causes[s->query.causes_count]))
		s->why = "a cause is a part of the split and a time, such as lock > 5ms";
	else
		s->query.causes_count++;
}

/* KEY=VALUE */
static void attribute_add(struct search *s, const char *value)
{
	const char *equal = strchr(value, '=');
	size_t bytes = equal ? (size_t)(equal - value) : 0;
	char *key;

	if (!bytes) {
		s->why = "an attribute is KEY=VALUE";
		return;
	}
	key = s->query.tags_count < TAGS_MAX ? pool_alloc(s->pool, bytes + 1, 1) : NULL;
	if (!key) {
		s->why = "there are too many attributes";
		return;
	}
	memcpy(key, value, bytes);
	s->tags[s->query.tags_count++] =
		(struct attribute){.key = key, .type = VALUE_STRING, .string = equal + 1};
}

static enum MHD_Result value_take(void *arg, enum MHD_ValueKind kind, const char *key,
				  const char *value)
{
	struct search *s = arg;

	if (!value || !*value)
		return MHD_YES;
	if (strcmp(key, "cause") == 0)
		cause_add(s, value);
	else if (strcmp(key, "attribute") == 0)
		attribute_add(s, value);
	return s->why ? MHD_NO : MHD_YES;
}

static void sort_read(struct search *s, const char *value)
{
	int part = value ? split_part_find(value, strlen(value)) : -1;

	if (!value || strcmp(value, "time") == 0)
		return;
	s->query.sort = part < 0 ? STORE_SORT_DURATION : STORE_SORT_PART;
	if (part >= 0)
		s->query.sort_part = (enum split_part)part;
	else if (strcmp(value, "duration") != 0)
		s->why = "sort is time, duration or a part of the split, such as lock";
}

static void duration_read(struct search *s, const char *value, uint64_t *ns)
{
	if (value && units_parse_duration(value, ns))
		s->why = "min_duration and max_duration are times such as 5ms";
}

static void limit_read(struct search *s, const char *value)
{
	uint64_t limit = TRACES;

	if (value && (!number_parse(value, TRACES_MAX, &limit) || !limit))
		s->why = "limit is a number from 1 to 500";
	s->query.limit = limit;
}

static void page_read(struct search *s, const char *value)
{
	if (!value)
		return;
	if (strlen(value) != TOKEN_DIGITS || strspn(value, "0123456789abcdef") != TOKEN_DIGITS ||
	    sscanf(value, "%16" SCNx64 "%16" SCNx64 "%16" SCNx64, &s->after.value,
		   &s->after.id.high, &s->after.id.low) != 3)
		s->why = "page is what an answer had as next";
	s->query.after = &s->after;
}

static void search_read(struct query *q, struct search *s)
{
	const char *kind = query_value(q, "kind"), *error = query_value(q, "error");

	s->query.service = query_value(q, "service");
	s->query.operation = query_value(q, "operation");
	s->query.kind = kind ? received_kind_parse(kind) : -1;
	if (kind && s->query.kind < 0)
		s->why = "kind is server, client, internal, producer or consumer";
	s->query.is_error = error && strcmp(error, "true") == 0;
	s->query.causes = s->causes;
	s->query.tags = s->tags;
	if (!own_range(q, &s->query.begin_from_ns, &s->query.begin_to_ns))
		s->why = OWN_RANGE_WHY;
	duration_read(s, query_value(q, "min_duration"), &s->query.duration_from_ns);
	duration_read(s, query_value(q, "max_duration"), &s->query.duration_to_ns);
	sort_read(s, query_value(q, "sort"));
	limit_read(s, query_value(q, "limit"));
	page_read(s, query_value(q, "page"));
	MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, value_take, s);
}

/* What a trace is in short. */
struct summary {
	const struct received_span
		*root; /* without a parent in the trace's answer; the first one */
	uint64_t begin_ns, end_ns, errors, spans;
};

/*
 * How little a span stands for its trace: the span of an application does before its request. One
 * of which only the context was seen has no name.
 */
static int root_rank(const struct received_span *span)
{
	return 4 * gather_is_context(span) + 2 * gather_is_counted(span) + (span->parent_id != 0);
}

static struct summary summary_of(const struct received_batch *batch, struct trace_id id)
{
	struct summary sum = {.begin_ns = UINT64_MAX};

	for (size_t i = 0; i < batch->count; i++) {
		const struct received_span *span = &batch->data[i];

		if (span->trace.high != id.high || span->trace.low != id.low)
			continue;
		if (!sum.root || root_rank(span) < root_rank(sum.root))
			sum.root = span;
		sum.begin_ns = span->begin_ns < sum.begin_ns ? span->begin_ns : sum.begin_ns;
		sum.end_ns = span->end_ns > sum.end_ns ? span->end_ns : sum.end_ns;
		sum.errors += span->status == RECEIVED_ERROR;
		sum.spans++;
	}
	return sum;
}

/* The spans are those that could be read. */
static void trace_write(struct json *j, const struct store_mark *mark,
			const struct received_batch *batch)
{
	const struct summary sum = summary_of(batch, mark->id);
	char text[TRACE_ID_BYTES];

	trace_id_text(text, mark->id);
	json_object_begin(j, NULL);
	json_string(j, "trace_id", text);
	json_u64(j, "value", mark->value);
	if (sum.root) {
		json_string(j, "service", sum.root->resource->service);
		json_string(j, "name", sum.root->name);
		json_u64(j, "begin_unix_ns", sum.begin_ns);
		json_u64(j, "end_unix_ns", sum.end_ns);
		json_u64(j, "spans", sum.spans);
		json_u64(j, "errors", sum.errors);
	}
	if (sum.root && gather_is_context(sum.root))
		json_bool(j, "context", true);
	json_object_end(j);
}

/* Traces of an answer, in the order of their marks. */
struct traces {
	const struct store_marks *marks;
	size_t written;
	uint64_t from_ns, to_ns; /* of their spans */
};

static void range_add(struct traces *t, const struct received_batch *batch)
{
	uint64_t from_ns, to_ns;

	own_spans_range(batch, &from_ns, &to_ns);
	if (to_ns && (!t->to_ns || from_ns < t->from_ns))
		t->from_ns = from_ns;
	t->to_ns = to_ns > t->to_ns ? to_ns : t->to_ns;
}

/* Writes the next traces with their spans, or nothing. Their memory is free again behind it. */
static int slice_write(struct query *q, struct json *j, struct traces *t, size_t count)
{
	const struct store_mark *marks = t->marks->data + t->written;
	struct pool own = {.limit_bytes = q->pool->limit_bytes, .quota = q->pool->quota};
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	struct query part = *q;
	int err = 0;

	part.pool = &own;
	for (size_t i = 0; i < count && !err; i++)
		err = vec_push(&ids, marks[i].id);
	err = err ? err : traces_joined(&part, &ids, &batch);
	for (size_t i = 0; i < count && !err; i++)
		trace_write(j, &marks[i], &batch);
	if (!err) {
		range_add(t, &batch);
		t->written += count;
	}
	vec_free(&ids);
	vec_free(&batch);
	pool_free(&own);
	return err;
}

/* A trace that takes too much memory or time is told without its spans: it was found. */
static int traces_write(struct query *q, struct json *j, struct traces *t)
{
	static const struct received_batch none;
	uint64_t until_ns = clock_now_ns() + GATHER_ANSWER_NS;
	size_t count = FIRST_TRACES;
	int err = 0;

	while (t->written < t->marks->count && !err) {
		size_t left = t->marks->count - t->written;

		count = count < left ? count : left;
		err = clock_now_ns() < until_ns ? slice_write(q, j, t, count) : -ETIMEDOUT;
		if (err == -ENOMEM && count > 1) {
			count /= 2;
			err = 0;
			continue;
		}
		if (err == -ENOMEM || err == -ETIMEDOUT) {
			for (size_t i = 0; i < count; i++)
				trace_write(j, &t->marks->data[t->written++], &none);
			err = 0;
		}
		count *= 2;
	}
	if (!err)
		error_clear(q->e);
	return err;
}

/* Of the time that was asked for. Without `from` it begins with the spans that were found. */
static void coverage_write(struct query *q, struct json *j, const struct search *s,
			   const struct traces *t)
{
	if (!t->to_ns && !s->query.begin_from_ns) { /* there is no such time */
		own_coverage_write(q, j, 0, 0);
		return;
	}
	own_coverage_write(q, j, s->query.begin_from_ns ? s->query.begin_from_ns : t->from_ns,
			   s->query.begin_to_ns ? s->query.begin_to_ns : own_now_ns());
}

static int answer_write(struct query *q, const struct search *s, const struct store_marks *marks)
{
	struct traces traces = {.marks = marks};
	struct json j;
	int err;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_array_begin_lines(&j, "traces");
	err = traces_write(q, &j, &traces);
	json_array_end(&j);
	if (marks->is_partial)
		json_bool(&j, "partial", true);
	coverage_write(q, &j, s, &traces);
	if (marks->count == s->query.limit) {
		const struct store_mark *last = &marks->data[marks->count - 1];
		char token[TOKEN_DIGITS + 1];

		snprintf(token, sizeof(token), "%016" PRIx64 "%016" PRIx64 "%016" PRIx64,
			 last->value, last->id.high, last->id.low);
		json_string(&j, "next", token);
	}
	json_object_end(&j);
	if (json_end(&j))
		return -ENOMEM;
	return err ? err : MHD_HTTP_OK;
}

int own_search(struct query *q)
{
	struct search search = {.pool = q->pool};
	struct store_marks marks = {0};
	int err;

	search_read(q, &search);
	if (search.why)
		return own_error(q, MHD_HTTP_BAD_REQUEST, search.why);
	err = store_search_marks(q->source->store, &search.query, &marks, q->e);
	err = err ? err : answer_write(q, &search, &marks);
	vec_free(&marks);
	return err;
}
