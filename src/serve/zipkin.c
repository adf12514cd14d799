/* SPDX-License-Identifier: Apache-2.0 */
/* Zipkin's query API, version 2. Its errors are lines of text. */
#include "serve/zipkin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "serve/answer.h"
#include "serve/links.h"
#include "serve/route.h"

#define LIMIT_PRESET 10
#define LIMIT_MAX 1500
#define LINKED_TRACES_MAX 1000 /* the newest, of which links and remote services are told */
#define TERMS_MAX 32
#define DAY_MS 86400000u
#define TEXT_TYPE "text/plain; charset=utf-8"

static int error_answer(struct query *q, int status, const char *why)
{
	q->type = TEXT_TYPE;
	bytes_put(q->body, why, strlen(why));
	bytes_put_u8(q->body, '\n');
	return status;
}

static int text_compare(const void *a, const void *b)
{
	return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

typedef VEC(const char *) name_list;

/* Writes an array of names, each once, and frees the list. */
static int names_write(struct query *q, name_list *names)
{
	struct json j;

	if (names->count)
		qsort(names->data, names->count, sizeof(*names->data), text_compare);
	json_init_bytes(&j, q->body);
	json_array_begin(&j, NULL);
	for (size_t i = 0; i < names->count; i++) {
		if (!i || strcasecmp(names->data[i], names->data[i - 1]) != 0)
			zipkin_name_write(&j, NULL, names->data[i]);
	}
	json_array_end(&j);
	vec_free(names);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

/* Names of services, or of the spans of a service in any case. */
static int operations_answer(struct query *q, const char *service)
{
	struct store_operations list = {0};
	name_list names = {0};
	int err = store_list(q->source->store, NULL, q->pool, &list, q->e);

	for (size_t i = 0; i < list.count && !err; i++) {
		if (!service)
			err = vec_push(&names, list.data[i].service);
		else if (strcasecmp(list.data[i].service, service) == 0 && *list.data[i].name)
			err = vec_push(&names, list.data[i].name);
	}
	vec_free(&list);
	if (!err)
		return names_write(q, &names);
	vec_free(&names);
	return err;
}

static int services_answer(struct query *q)
{
	return operations_answer(q, NULL);
}

static int spans_answer(struct query *q)
{
	const char *service = query_value(q, "serviceName");

	if (!service)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, "serviceName is required");
	return operations_answer(q, service);
}

/* The whole traces that a search finds. */
static int traces_find(struct query *q, const struct store_query *search, struct store_ids *ids,
		       struct received_batch *batch)
{
	int err = store_search(q->source->store, search, ids, q->e);

	return err ? err : store_find(q->source->store, ids, q->pool, batch, q->e);
}

static int remote_answer(struct query *q)
{
	struct store_query search = {.service = query_value(q, "serviceName"),
				     .kind = -1,
				     .is_loose = true,
				     .limit = LINKED_TRACES_MAX};
	const char *const marks[] = {"peer.service"};
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	name_list names = {0};
	int err;

	if (!search.service)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, "serviceName is required");
	search.marks = marks;
	search.marks_count = 1;
	err = traces_find(q, &search, &ids, &batch);
	for (size_t i = 0; i < batch.count && !err; i++) {
		const char *remote = remote_service(&batch.data[i]);

		if (remote && strcasecmp(batch.data[i].resource->service, search.service) == 0)
			err = vec_push(&names, remote);
	}
	if (!err)
		err = names_write(q, &names);
	vec_free(&names);
	vec_free(&ids);
	vec_free(&batch);
	return err;
}

static void trace_write(struct json *j, const struct received_batch *batch, struct trace_id id)
{
	json_array_begin_lines(j, NULL);
	for (size_t i = 0; i < batch->count; i++) {
		if (trace_id_equals(batch->data[i].trace, id))
			zipkin_span_write(j, &batch->data[i]);
	}
	json_array_end(j);
}

static bool has_trace(const struct received_batch *batch, struct trace_id id)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (trace_id_equals(batch->data[i].trace, id))
			return true;
	}
	return false;
}

/* An array of traces. */
static int traces_write(struct query *q, const struct received_batch *batch,
			const struct store_ids *ids)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_array_begin_lines(&j, NULL);
	for (size_t i = 0; i < ids->count; i++) {
		if (has_trace(batch, ids->data[i]))
			trace_write(&j, batch, ids->data[i]);
	}
	json_array_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

static int trace_answer(struct query *q)
{
	struct received_batch batch = {0};
	struct trace_id id;
	char why[80];
	struct json j;
	int err;

	if (!trace_id_parse(q->word, &id))
		return error_answer(q, MHD_HTTP_BAD_REQUEST,
				    "a trace id should be 1 to 32 hex digits");
	err = trace_find(q, id, &batch);
	if (err == -ENOENT) {
		snprintf(why, sizeof(why), "%s not found", q->word);
		err = error_answer(q, MHD_HTTP_NOT_FOUND, why);
	} else if (!err) {
		json_init_bytes(&j, q->body);
		trace_write(&j, &batch, id);
		err = json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
	}
	vec_free(&batch);
	return err;
}

/* "ID,ID,...": traces that are not there are left out. */
static int many_answer(struct query *q)
{
	const char *text = query_value(q, "traceIds");
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	int err = text ? 0 : -EINVAL;

	while (!err && *text) {
		size_t n = strcspn(text, ",");
		struct trace_id id;
		char word[40];

		snprintf(word, sizeof(word), "%.*s", n < sizeof(word) ? (int)n : 0, text);
		if (!trace_id_parse(word, &id) || ids.count == LIMIT_MAX)
			err = -EINVAL;
		else
			err = vec_push(&ids, id);
		text += n + (text[n] == ',');
	}
	if (err == -EINVAL)
		err = error_answer(q, MHD_HTTP_BAD_REQUEST,
				   "traceIds should be ids of 1 to 32 hex digits, with commas");
	else if (!err)
		err = store_find(q->source->store, &ids, q->pool, &batch, q->e);
	if (!err)
		err = traces_write(q, &batch, &ids);
	vec_free(&ids);
	vec_free(&batch);
	return err;
}

/* Reads a whole number that is not 0. False: the parameter is there and is none. */
static bool number_read(const struct query *q, const char *name, uint64_t most, uint64_t *number)
{
	const char *text = query_value(q, name);
	char *end;

	if (!text)
		return true;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *number && *number <= most;
}

/* "endTs" and "lookback": NULL, or what is wrong. */
static const char *window_read(const struct query *q, struct store_query *search)
{
	const uint64_t most = UINT64_MAX / 1000000 - 1;
	uint64_t end_ms = clock_read_ns(CLOCK_REALTIME) / 1000000, lookback_ms = DAY_MS;

	if (!number_read(q, "endTs", most, &end_ms))
		return "endTs should be positive, in epoch milliseconds";
	if (!number_read(q, "lookback", most, &lookback_ms))
		return "lookback should be positive, in milliseconds";
	search->begin_to_ns = end_ms * 1000000 + 999999;
	if (lookback_ms < end_ms)
		search->begin_from_ns = (end_ms - lookback_ms) * 1000000;
	return NULL;
}

static const char *durations_read(const struct query *q, struct store_query *search)
{
	uint64_t least = 0, most = 0;

	if (!number_read(q, "minDuration", UINT64_MAX / 1000, &least))
		return "minDuration should be a positive number of microseconds";
	if (!number_read(q, "maxDuration", UINT64_MAX / 1000 - 1, &most))
		return "maxDuration should be a positive number of microseconds";
	if (most && !least)
		return "maxDuration is only valid with minDuration";
	if (most && most < least)
		return "maxDuration should be >= minDuration";
	search->duration_from_ns = least * 1000;
	search->duration_to_ns = most ? most * 1000 + 999 : 0;
	return NULL;
}

struct terms {
	struct attribute tags[TERMS_MAX];
	const char *marks[TERMS_MAX];
	size_t tags_count, marks_count;
};

/* A term of an annotation query: KEY=VALUE, or a key of a tag, or an annotation. */
static void term_use(struct store_query *search, struct terms *terms, char *term)
{
	char *equals = strchr(term, '=');

	if (equals)
		*equals = '\0';
	if (strcmp(term, "error") == 0 && (!equals || strcmp(equals + 1, "true") == 0)) {
		search->is_error = true;
	} else if (equals && terms->tags_count < TERMS_MAX) {
		terms->tags[terms->tags_count++] =
			(struct attribute){.key = term, .type = VALUE_STRING, .string = equals + 1};
	} else if (!equals && terms->marks_count < TERMS_MAX) {
		terms->marks[terms->marks_count++] = term;
	}
}

/* Terms with " and " between them. */
static int terms_read(struct query *q, struct store_query *search, struct terms *terms)
{
	const char *text = query_value(q, "annotationQuery");
	char *copy, *at;

	if (!text)
		return 0;
	copy = pool_alloc(q->pool, strlen(text) + 1, 1);
	if (!copy)
		return -ENOMEM;
	strcpy(copy, text);
	while (copy) {
		at = copy;
		copy = strstr(copy, " and ");
		if (copy) {
			*copy = '\0';
			copy += strlen(" and ");
		}
		if (*at)
			term_use(search, terms, at);
	}
	search->tags = terms->tags;
	search->tags_count = terms->tags_count;
	search->marks = terms->marks;
	search->marks_count = terms->marks_count;
	return 0;
}

/* "all" is what Zipkin's page sends for no condition. */
static const char *name_read(const struct query *q, const char *name)
{
	const char *text = query_value(q, name);

	return text && strcasecmp(text, "all") != 0 ? text : NULL;
}

static int search_answer(struct query *q, const struct store_query *search)
{
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	int err = traces_find(q, search, &ids, &batch);

	err = err ? err : traces_write(q, &batch, &ids);
	vec_free(&ids);
	vec_free(&batch);
	return err;
}

static int traces_answer(struct query *q)
{
	struct store_query search = {.kind = -1, .is_loose = true};
	struct terms terms = {0};
	uint64_t limit = LIMIT_PRESET;
	const char *wrong = window_read(q, &search);
	int err;

	wrong = wrong ? wrong : durations_read(q, &search);
	if (!wrong && !number_read(q, "limit", LIMIT_MAX, &limit))
		wrong = "limit should be 1 to 1500";
	if (wrong)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, wrong);
	search.service = query_value(q, "serviceName");
	search.remote = query_value(q, "remoteServiceName");
	search.operation = name_read(q, "spanName");
	search.limit = limit;
	err = terms_read(q, &search, &terms);
	return err ? err : search_answer(q, &search);
}

static int dependencies_answer(struct query *q)
{
	struct store_query search = {.kind = -1, .is_loose = true, .limit = LINKED_TRACES_MAX};
	const char *wrong = query_value(q, "endTs") ? window_read(q, &search) : "endTs is required";
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	struct json j;
	int err;

	if (wrong)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, wrong);
	err = traces_find(q, &search, &ids, &batch);
	if (!err) {
		json_init_bytes(&j, q->body);
		err = zipkin_links_write(&j, &batch);
		err = json_end(&j) || err ? -ENOMEM : MHD_HTTP_OK;
	}
	vec_free(&ids);
	vec_free(&batch);
	return err;
}

/* There are no keys for which values are proposed. */
static int nothing_answer(struct query *q)
{
	bytes_put(q->body, "[]\n", 3);
	return MHD_HTTP_OK;
}

/* Settings of Zipkin's page. */
static int config_answer(struct query *q)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_string(&j, "environment", "");
	json_s64(&j, "queryLimit", LIMIT_PRESET);
	json_s64(&j, "defaultLookback", 900000);
	json_bool(&j, "searchEnabled", true);
	json_object_begin(&j, "dependency");
	json_bool(&j, "enabled", true);
	json_double(&j, "lowErrorRate", 0.5);
	json_double(&j, "highErrorRate", 0.75);
	json_object_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

static int health_answer(struct query *q)
{
	struct store_counts counts;
	bool is_up = store_count(q->source->store, &counts, q->e) == 0;
	const char *status = is_up ? "UP" : "DOWN";
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_string(&j, "status", status);
	json_object_begin(&j, "zipkin");
	json_string(&j, "status", status);
	json_object_begin(&j, "details");
	json_object_begin(&j, "store");
	json_string(&j, "status", status);
	json_object_end(&j);
	json_object_end(&j);
	json_object_end(&j);
	json_object_end(&j);
	if (json_end(&j))
		return -ENOMEM;
	return is_up ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static int info_answer(struct query *q)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_object_begin(&j, "zipkin");
	json_string(&j, "version", "fathom");
	json_object_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

/* Each is also under /zipkin/, where the page asks. */
#define BOTH(path, answer)                                                                         \
	{path, answer},                                                                            \
	{                                                                                          \
		"/zipkin" path, answer                                                             \
	}

const struct route zipkin_routes[] = {BOTH("/api/v2/services", services_answer),
				      BOTH("/api/v2/spans", spans_answer),
				      BOTH("/api/v2/remoteServices", remote_answer),
				      BOTH("/api/v2/traces", traces_answer),
				      BOTH("/api/v2/trace/*", trace_answer),
				      BOTH("/api/v2/traceMany", many_answer),
				      BOTH("/api/v2/dependencies", dependencies_answer),
				      BOTH("/api/v2/autocompleteKeys", nothing_answer),
				      BOTH("/api/v2/autocompleteValues", nothing_answer),
				      BOTH("/config.json", config_answer),
				      BOTH("/health", health_answer),
				      BOTH("/info", info_answer),
				      {0}};
