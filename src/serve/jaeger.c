/* SPDX-License-Identifier: Apache-2.0 */
/* Jaeger's query API, its first generation: what its page and Grafana ask. */
#include "serve/jaeger.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "serve/answer.h"
#include "serve/route.h"
#include "span/attributes.h"

#define LIMIT_PRESET 20
#define LIMIT_MAX 1500
#define TAGS_MAX 64

/* Each answer has this envelope; `data` comes first. */
static void envelope_begin(struct json *j, struct query *q)
{
	json_init_bytes(j, q->body);
	json_object_begin(j, NULL);
	json_array_begin_lines(j, "data");
}

static int envelope_end(struct json *j, size_t total)
{
	json_array_end(j);
	json_u64(j, "total", total);
	json_u64(j, "limit", 0);
	json_u64(j, "offset", 0);
	json_null(j, "errors");
	json_object_end(j);
	return json_end(j) ? -ENOMEM : MHD_HTTP_OK;
}

static int error_answer(struct query *q, int status, const char *why)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_null(&j, "data");
	json_u64(&j, "total", 0);
	json_u64(&j, "limit", 0);
	json_u64(&j, "offset", 0);
	json_array_begin(&j, "errors");
	json_object_begin(&j, NULL);
	json_s64(&j, "code", status);
	json_string(&j, "msg", why);
	json_object_end(&j);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : status;
}

static int services_answer(struct query *q)
{
	struct store_operations list = {0};
	int err = store_list(q->source->store, NULL, q->pool, &list, q->e);
	size_t count = 0;
	struct json j;

	if (!err) {
		envelope_begin(&j, q);
		for (size_t i = 0; i < list.count; i++) {
			if (i && strcmp(list.data[i].service, list.data[i - 1].service) == 0)
				continue;
			json_string(&j, NULL, list.data[i].service);
			count++;
		}
		err = envelope_end(&j, count);
	}
	vec_free(&list);
	return err;
}

static int names_answer(struct query *q)
{
	struct store_operations list = {0};
	int err = store_list(q->source->store, q->word, q->pool, &list, q->e);
	size_t count = 0;
	struct json j;

	if (!err) {
		envelope_begin(&j, q);
		for (size_t i = 0; i < list.count; i++) {
			if (i && strcmp(list.data[i].name, list.data[i - 1].name) == 0)
				continue;
			json_string(&j, NULL, list.data[i].name);
			count++;
		}
		err = envelope_end(&j, count);
	}
	vec_free(&list);
	return err;
}

static int operations_answer(struct query *q)
{
	const char *service = query_value(q, "service"), *kind = query_value(q, "spanKind");
	struct store_operations list = {0};
	size_t count = 0;
	struct json j;
	int err;

	if (!service)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, "parameter 'service' is required");
	err = store_list(q->source->store, service, q->pool, &list, q->e);
	if (!err) {
		envelope_begin(&j, q);
		for (size_t i = 0; i < list.count; i++) {
			const char *name = received_kind_name(list.data[i].kind);

			if (kind && strcmp(kind, name) != 0)
				continue;
			json_object_begin(&j, NULL);
			json_string(&j, "name", list.data[i].name);
			json_string(&j, "spanKind", list.data[i].kind ? name : "");
			json_object_end(&j);
			count++;
		}
		err = envelope_end(&j, count);
	}
	vec_free(&list);
	return err;
}

/* The traces of these ids, whole. */
static int ids_answer(struct query *q, const struct store_ids *ids)
{
	struct received_batch batch = {0};
	int err = store_find(q->source->store, ids, q->pool, &batch, q->e);
	struct json j;

	if (!err) {
		envelope_begin(&j, q);
		err = jaeger_traces_write(&j, &batch, ids);
		err = err ? err : envelope_end(&j, 0);
	}
	vec_free(&batch);
	return err;
}

static int trace_answer(struct query *q)
{
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	struct trace_id id;
	struct json j;
	int err;

	if (!trace_id_parse(q->word, &id))
		return error_answer(q, MHD_HTTP_BAD_REQUEST,
				    "malformed trace ID: 1 to 32 hex digits are needed");
	err = trace_find(q, id, &batch);
	if (err == -ENOENT) {
		err = error_answer(q, MHD_HTTP_NOT_FOUND, "trace not found");
	} else if (!err) {
		ids = (struct store_ids){&id, 1, 1};
		envelope_begin(&j, q);
		err = jaeger_traces_write(&j, &batch, &ids);
		err = err ? err : envelope_end(&j, 0);
	}
	vec_free(&batch);
	return err;
}

/* A duration as Go writes it: "1.5s", "1m30s", "100us"; false: it is none. */
static bool duration_parse(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1},	    {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6},
		     {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}};
	double sum = 0;

	do {
		char *end;
		double number = strtod(text, &end);
		size_t i = 0;

		if (end == text || !isfinite(number) || number < 0)
			return false;
		while (i < 7 && strncmp(end, units[i].name, strlen(units[i].name)) != 0)
			i++;
		if (i == 7)
			return false;
		sum += number * units[i].ns;
		text = end + strlen(units[i].name);
	} while (*text);
	if (sum > 1e18)
		return false;
	*ns = (uint64_t)sum;
	return true;
}

/* A whole number up to `most`; false: it is none. */
static bool number_parse(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *number <= most;
}

/* Tags that stand for fields of OTLP are conditions of their own. There is room for one more. */
static void tag_use(struct store_query *search, struct attribute *tags, const struct attribute *tag)
{
	bool is_text = tag->type == VALUE_STRING;
	int kind = is_text ? received_kind_parse(tag->string) : -1;

	if (strcmp(tag->key, "span.kind") == 0 && kind >= 0)
		search->kind = kind;
	else if (strcmp(tag->key, "error") == 0 && ((is_text && strcmp(tag->string, "true") == 0) ||
						    (tag->type == VALUE_BOOLEAN && tag->integer)))
		search->is_error = true;
	else if (strcmp(tag->key, "otel.status_code") == 0 && is_text &&
		 strcmp(tag->string, "ERROR") == 0)
		search->is_error = true;
	else
		tags[search->tags_count++] = *tag;
	search->tags = tags;
}

struct tag_reading {
	struct query *q;
	struct store_query *search;
	struct attribute *tags;
	const char *wrong; /* NULL: nothing */
};

static bool tag_room(struct tag_reading *r, size_t count)
{
	if (count <= TAGS_MAX - r->search->tags_count)
		return true;
	r->wrong = "more than 64 tags";
	return false;
}

/* "tags": an object in JSON; "tag": KEY:VALUE. */
static enum MHD_Result tag_read(void *arg, enum MHD_ValueKind kind, const char *key,
				const char *value)
{
	struct tag_reading *r = arg;
	const char *colon = value ? strchr(value, ':') : NULL;
	const struct attribute *list;
	struct attribute one = {.type = VALUE_STRING};
	size_t count;

	if (strcmp(key, "tags") == 0 && value) {
		int err = attributes_read(value, strlen(value), r->q->pool, &list, &count);

		if (err) {
			r->wrong = err == -ENOMEM
					   ? "out of memory"
					   : "malformed 'tags' parameter, expecting a map in JSON";
			return MHD_NO;
		}
		if (!tag_room(r, count))
			return MHD_NO;
		for (size_t i = 0; i < count; i++)
			tag_use(r->search, r->tags, &list[i]);
	} else if (strcmp(key, "tag") == 0) {
		char *name = colon ? pool_alloc(r->q->pool, (size_t)(colon - value) + 1, 1) : NULL;

		if (!name) {
			r->wrong = "malformed 'tag' parameter, expecting key:value";
			return MHD_NO;
		}
		memcpy(name, value, (size_t)(colon - value));
		one.key = name;
		one.string = colon + 1;
		if (!tag_room(r, 1))
			return MHD_NO;
		tag_use(r->search, r->tags, &one);
	}
	return MHD_YES;
}

/* Reads the numbers of a search: NULL, or what is wrong. */
static const char *bounds_read(const struct query *q, struct store_query *search)
{
	const char *start = query_value(q, "start"), *end = query_value(q, "end");
	const char *least = query_value(q, "minDuration"), *most = query_value(q, "maxDuration");
	const char *limit = query_value(q, "limit");
	uint64_t number = LIMIT_PRESET;

	if (limit && (!number_parse(limit, LIMIT_MAX, &number) || !number))
		return "unable to parse param 'limit': 1 to 1500";
	search->limit = number;
	if (start && !number_parse(start, UINT64_MAX / 1000, &search->begin_from_ns))
		return "unable to parse param 'start': microseconds since 1970";
	if (end && !number_parse(end, UINT64_MAX / 1000 - 1, &search->begin_to_ns))
		return "unable to parse param 'end': microseconds since 1970";
	search->begin_from_ns *= 1000;
	search->begin_to_ns = end ? search->begin_to_ns * 1000 + 999 : 0;
	if (least && !duration_parse(least, &search->duration_from_ns))
		return "unable to parse param 'minDuration': a duration as 1.5s or 20ms";
	if (most && !duration_parse(most, &search->duration_to_ns))
		return "unable to parse param 'maxDuration': a duration as 1.5s or 20ms";
	if (most && search->duration_to_ns < search->duration_from_ns)
		return "'maxDuration' should be greater than 'minDuration'";
	return NULL;
}

struct id_reading {
	struct store_ids ids;
	bool wrong;
};

static enum MHD_Result id_read(void *arg, enum MHD_ValueKind kind, const char *key,
			       const char *value)
{
	struct id_reading *r = arg;
	struct trace_id id;

	if (strcmp(key, "traceID") != 0)
		return MHD_YES;
	r->wrong = !value || !trace_id_parse(value, &id) || r->ids.count == LIMIT_MAX ||
		   vec_push(&r->ids, id);
	return r->wrong ? MHD_NO : MHD_YES;
}

static int search_answer(struct query *q, const struct store_query *search)
{
	struct store_ids ids = {0};
	int err = store_search(q->source->store, search, &ids, q->e);

	err = err ? err : ids_answer(q, &ids);
	vec_free(&ids);
	return err;
}

static int traces_answer(struct query *q)
{
	struct store_query search = {.kind = -1};
	struct attribute tags[TAGS_MAX];
	struct tag_reading reading = {q, &search, tags, NULL};
	struct id_reading named = {0};
	const char *wrong;
	int err;

	MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, id_read, &named);
	if (named.ids.count || named.wrong) {
		err = named.wrong ? error_answer(q, MHD_HTTP_BAD_REQUEST, "malformed trace ID")
				  : ids_answer(q, &named.ids);
		vec_free(&named.ids);
		return err;
	}
	search.service = query_value(q, "service");
	search.operation = query_value(q, "operation");
	if (!search.service)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, "parameter 'service' is required");
	wrong = bounds_read(q, &search);
	if (!wrong) {
		MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, tag_read, &reading);
		wrong = reading.wrong;
	}
	return wrong ? error_answer(q, MHD_HTTP_BAD_REQUEST, wrong) : search_answer(q, &search);
}

const struct route jaeger_routes[] = {
	{"/api/services", services_answer},	{"/api/services/*/operations", names_answer},
	{"/api/operations", operations_answer}, {"/api/traces", traces_answer},
	{"/api/traces/*", trace_answer},	{0}};
